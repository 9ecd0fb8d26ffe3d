-- Give a waiting job to another worker, or (NULL) to the first that takes it. What runs is left alone, and so is a job that
-- goes where its workflow goes. Whoever calls says next whom it waits for (aim.sql).
WITH held AS MATERIALIZED (
    SELECT job.id, job.required_worker, job.assigned_worker, job.placement
    FROM jobs_job_live AS job
    WHERE job.id = %(job_id)s::uuid AND job.state <> 'running' AND job.placement IS DISTINCT FROM 'dispatch'
    FOR NO KEY UPDATE
),

reassigned AS (
    UPDATE jobs_job_live AS job
    SET
        placement = CASE WHEN %(worker_id)s::uuid IS NULL THEN job.placement ELSE 'job' END,
        required_worker = %(worker_id)s::uuid,
        assigned_worker = NULL
    FROM held
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id, job.queue_id, job.state
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, reassigned.queue_id, 'job.reassigned', reassigned.state, ARRAY[reassigned.id],
        jsonb_build_object('worker', (SELECT worker.uid FROM workers_worker AS worker WHERE worker.id = %(worker_id)s::uuid))
    FROM reassigned
    INNER JOIN queues_queue AS queue ON reassigned.queue_id = queue.id
)

SELECT (
    SELECT worker.uid FROM workers_worker AS worker WHERE worker.id = coalesce(held.required_worker, held.assigned_worker)
)
FROM held;
