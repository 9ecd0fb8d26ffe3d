-- Make due jobs claimable. Their rank was set when they were scheduled and stays.
-- The time is asked for once: compared with a function that may change, every scheduled row would be looked at.
-- Nobody waits for the disk: what a crash forgets is promoted again.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now, set_config('synchronous_commit', 'off', TRUE) AS quick),

due AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_live AS job
    WHERE job.state IN ('scheduled', 'retry_wait') AND job.run_at <= (SELECT clock.now FROM clock)
    ORDER BY job.run_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
),

promoted AS (
    UPDATE jobs_job_live AS job
    SET state = 'queued', key_full = job.concurrency_key IS NOT NULL
    FROM due
    WHERE job.id = ANY(ARRAY[due.id]) AND job.state IN ('scheduled', 'retry_wait')
    RETURNING job.id, job.queue_id, job.concurrency_key
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, promoted.queue_id, 'job.promoted', 'queued', array_agg(promoted.id)
    FROM promoted
    INNER JOIN queues_queue AS queue ON promoted.queue_id = queue.id
    GROUP BY queue.project_id, promoted.queue_id
)

SELECT
    promoted.queue_id, count(*),
    array_agg(DISTINCT promoted.concurrency_key) FILTER (WHERE promoted.concurrency_key IS NOT NULL)
FROM promoted
GROUP BY promoted.queue_id;
