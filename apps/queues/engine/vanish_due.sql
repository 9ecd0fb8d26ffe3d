-- Deleted queues, and whether every transaction has ended that began before somebody saw they were (models.py).
SELECT
    queue.id,
    queue.vanish_after IS NOT NULL AND NOT EXISTS (
        SELECT
        FROM pg_stat_activity AS other
        WHERE other.datname = current_database() AND other.pid <> pg_backend_pid()
          AND other.xact_start < queue.vanish_after
    )
FROM queues_queue AS queue
WHERE queue.deleted_at IS NOT NULL
ORDER BY queue.id;
