-- Let paused jobs go on from where they were held; those whose time came meanwhile queue at once. Ranks stay.
WITH held AS MATERIALIZED (
    SELECT
        job.id,
        CASE
            WHEN job.resume_state IN ('scheduled', 'retry_wait') AND job.run_at <= clock_timestamp() THEN 'queued'
            ELSE job.resume_state
        END AS goes_to
    FROM jobs_job_live AS job
    WHERE job.id = ANY(%(ids)s::uuid []) AND job.state = 'paused'
    ORDER BY job.id
    FOR NO KEY UPDATE
),

resumed AS (
    UPDATE jobs_job_live AS job
    SET
        state = held.goes_to,
        resume_state = NULL,
        key_full = held.goes_to = 'queued' AND job.concurrency_key IS NOT NULL
    FROM held
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id, job.queue_id, job.state
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, resumed.queue_id, 'job.resumed', resumed.state, array_agg(resumed.id)
    FROM resumed
    INNER JOIN queues_queue AS queue ON resumed.queue_id = queue.id
    GROUP BY queue.project_id, resumed.queue_id, resumed.state
)

SELECT id, queue_id, 'paused', state FROM resumed;
