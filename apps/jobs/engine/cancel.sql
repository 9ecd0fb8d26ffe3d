-- Hold live jobs. Those that run are asked to stop; those that wait are left to the next statement (shelve.sql).
WITH held AS MATERIALIZED (
    SELECT job.id, job.state, job.queue_id, job.fence, job.session_id, job.cancel_requested_at
    FROM jobs_job_live AS job
    WHERE job.id = ANY(%(ids)s::uuid [])
    ORDER BY job.id
    FOR NO KEY UPDATE
),

requested AS (
    UPDATE jobs_job_live AS job
    SET cancel_requested_at = clock_timestamp()
    FROM held
    WHERE job.id = ANY(ARRAY[held.id]) AND held.state = 'running' AND held.cancel_requested_at IS NULL
    RETURNING job.id, job.queue_id, job.attempt
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, attempts)
    SELECT
        queue.project_id, requested.queue_id, 'job.cancel_requested', 'running',
        array_agg(requested.id), array_agg(requested.attempt)
    FROM requested
    INNER JOIN queues_queue AS queue ON requested.queue_id = queue.id
    GROUP BY queue.project_id, requested.queue_id
)

SELECT id, state, fence, session_id FROM held;
