-- Let a whole workflow go on from where it was held; whose time came meanwhile queues at once. Ranks stay.
WITH held AS MATERIALIZED (
    SELECT
        job.id, job.state,
        CASE
            WHEN job.state = 'running' THEN 'running'
            WHEN job.resume_state IN ('scheduled', 'retry_wait') AND job.run_at <= clock_timestamp() THEN 'queued'
            ELSE job.resume_state
        END AS goes_to
    FROM jobs_job_live AS job
    WHERE job.workflow_id = %(workflow_id)s::uuid
    ORDER BY job.id
    FOR NO KEY UPDATE
),

resumed AS (
    UPDATE jobs_job_live AS job
    SET
        state = held.goes_to,
        resume_state = NULL,
        key_full = CASE
            WHEN held.state = 'running' THEN job.key_full
            ELSE held.goes_to = 'queued' AND job.concurrency_key IS NOT NULL
        END
    FROM held
    WHERE job.id = held.id AND job.resume_state IS NOT NULL
    RETURNING job.id, job.queue_id, held.state AS before, job.state AS after
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, resumed.queue_id, 'job.resumed', resumed.after, array_agg(resumed.id)
    FROM resumed
    INNER JOIN queues_queue AS queue ON resumed.queue_id = queue.id
    WHERE resumed.before = 'paused'
    GROUP BY queue.project_id, resumed.queue_id, resumed.after
)

SELECT id, queue_id, before, after FROM resumed;
