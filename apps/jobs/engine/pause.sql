-- Hold waiting jobs back: each remembers the state it goes back to. A running one is left alone.
WITH held AS MATERIALIZED (
    SELECT job.id, job.state
    FROM jobs_job_live AS job
    WHERE job.id = ANY(%(ids)s::uuid []) AND job.state NOT IN ('running', 'paused')
    ORDER BY job.id
    FOR NO KEY UPDATE
),

paused AS (
    UPDATE jobs_job_live AS job
    SET state = 'paused', resume_state = held.state, key_full = FALSE
    FROM held
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id, job.queue_id, held.state AS before
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, paused.queue_id, 'job.paused', 'paused', array_agg(paused.id)
    FROM paused
    INNER JOIN queues_queue AS queue ON paused.queue_id = queue.id
    GROUP BY queue.project_id, paused.queue_id
)

SELECT id, queue_id, before, 'paused' FROM paused;
