-- Hold back every job of a workflow that waits; each remembers the state it goes back to. One that runs goes on, and
-- remembers that it is paused should its attempt not be its last (report.sql).
WITH held AS MATERIALIZED (
    SELECT job.id, job.state
    FROM jobs_job_live AS job
    WHERE job.workflow_id = %(workflow_id)s::uuid
    ORDER BY job.id
    FOR NO KEY UPDATE
),

paused AS (
    UPDATE jobs_job_live AS job
    SET
        state = CASE WHEN held.state = 'running' THEN job.state ELSE 'paused' END,
        resume_state = CASE WHEN held.state = 'running' THEN 'paused' ELSE held.state END,
        key_full = job.key_full AND held.state = 'running'
    FROM held
    WHERE job.id = held.id AND held.state <> 'paused'
    RETURNING job.id, job.queue_id, held.state AS before, job.state AS after
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, paused.queue_id, 'job.paused', 'paused', array_agg(paused.id)
    FROM paused
    INNER JOIN queues_queue AS queue ON paused.queue_id = queue.id
    WHERE paused.after = 'paused'
    GROUP BY queue.project_id, paused.queue_id
)

SELECT id, queue_id, before, after FROM paused;
