-- Say whom live jobs wait for, by what they, their workflow and its reservation say: of some jobs, or of a whole workflow.
-- Whoever calls holds the workflows (aim_hold.sql). …1 is the first worker that takes the job, …2 the first that takes
-- any job of its workflow (claim_aimed.sql); NULL is any worker that is not reserved.
WITH asked AS MATERIALIZED (
    SELECT job.id FROM jobs_job_live AS job WHERE job.id = ANY(%(ids)s::uuid [])
    UNION
    SELECT job.id FROM jobs_job_live AS job WHERE job.workflow_id = %(workflow_id)s::uuid
),

held AS MATERIALIZED (
    SELECT job.id, job.placement, job.required_worker, job.assigned_worker, job.workflow_id
    FROM asked
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[asked.id])
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
),

aimed AS MATERIALIZED (
    SELECT
        held.id,
        CASE
            WHEN held.placement = 'dispatch' THEN coalesce(held.required_worker, workflow.required_worker, workflow.assigned_worker)
            WHEN held.placement = 'job' THEN coalesce(held.required_worker, held.assigned_worker)
        END AS worker,
        CASE
            WHEN reservation.id IS NOT NULL THEN reservation.id
            WHEN held.placement = 'job' THEN uuid '00000000-0000-0000-0000-000000000001'
            WHEN held.placement = 'dispatch' THEN uuid '00000000-0000-0000-0000-000000000002'
        END AS otherwise,
        reservation.id IS NOT NULL AS reserved
    FROM held
    LEFT JOIN jobs_workflow AS workflow ON workflow.id = ANY(ARRAY[held.workflow_id])
    LEFT JOIN workers_reservation AS reservation
        ON workflow.id = reservation.workflow_id AND reservation.state IN ('pending', 'bound')
)

UPDATE jobs_job_live AS job
SET
    target = CASE WHEN aimed.reserved THEN aimed.otherwise ELSE coalesce(aimed.worker, aimed.otherwise) END,
    assigned_worker = CASE WHEN job.placement IS NULL THEN job.assigned_worker ELSE aimed.worker END
FROM aimed
WHERE job.id = ANY(ARRAY[aimed.id])
RETURNING job.id, job.queue_id, job.state, job.target;
