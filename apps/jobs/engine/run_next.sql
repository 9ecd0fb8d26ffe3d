-- Put a job that is queued, or waits for its time, before everything that is queued in its queue, of whatever priority.
-- Whoever calls holds the line's turn (move_turn.sql).
WITH held AS MATERIALIZED (
    SELECT job.id, job.state
    FROM jobs_job_live AS job
    WHERE job.id = %(job_id)s::uuid AND job.state IN ('queued', 'scheduled', 'retry_wait')
    FOR NO KEY UPDATE
),

head AS MATERIALIZED (
    SELECT least(
        (
            SELECT min(peer.rank)
            FROM jobs_job_live AS peer
            WHERE peer.queue_id = %(queue_id)s::uuid AND peer.state = 'queued' AND NOT peer.key_full
              AND peer.target IS NULL AND peer.id <> %(job_id)s::uuid
        ),
        (
            SELECT min(peer.rank)
            FROM jobs_job_live AS peer
            WHERE peer.queue_id = %(queue_id)s::uuid AND peer.state = 'queued' AND NOT peer.key_full
              AND peer.target IS NOT NULL AND peer.id <> %(job_id)s::uuid
        )
    ) AS rank
),

moved AS (
    UPDATE jobs_job_live AS job
    SET
        state = 'queued',
        key_full = job.key_full OR (held.state <> 'queued' AND job.concurrency_key IS NOT NULL),
        run_at = least(job.run_at, clock_timestamp()),
        rank = least(
            job.rank,
            head.rank - 1000,
            (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint
            - job.priority * coalesce(job.ranked_aging, 4503599627370496)
        )
    FROM held
    CROSS JOIN head
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id, job.queue_id, held.state AS before
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, moved.queue_id, 'job.run_next', 'queued', ARRAY[moved.id]
    FROM moved
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
)

SELECT id, queue_id, before, 'queued' FROM moved;
