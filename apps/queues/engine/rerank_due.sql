-- Queues with jobs that may be ranked by another ageing than theirs is now. A queue whose ageing changed is looked at
-- at once, and once more when whoever may have read the old one has ended (rerank_after, models.py).
SELECT queue.id, queue.rerank_after
FROM queues_queue AS queue
WHERE queue.rerank_after < 0
   OR queue.rerank_after > 0 AND NOT EXISTS (
       SELECT
       FROM pg_stat_activity AS other
       WHERE other.datname = current_database() AND other.pid <> pg_backend_pid()
         AND other.xact_start < to_timestamp(queue.rerank_after / 1000000.0)
   )
ORDER BY queue.id;
