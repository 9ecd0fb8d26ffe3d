-- Let the jobs of workflows that the claim before has bound (claim_aimed.sql) follow to the same worker, whatever they
-- wait for. The workflows' rows are held: who adds a job to one of them has done so by now, or waits to see where it goes.
WITH bound AS MATERIALIZED (
    SELECT workflow.id, workflow.assigned_worker
    FROM jobs_workflow AS workflow
    WHERE workflow.id = ANY(string_to_array(current_setting('fencepost.bound', TRUE), ' ')::uuid [])
),

following AS MATERIALIZED (
    SELECT job.id, bound.assigned_worker
    FROM bound
    INNER JOIN jobs_job_live AS job ON bound.id = job.workflow_id
    WHERE job.target = uuid '00000000-0000-0000-0000-000000000002'
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
)

UPDATE jobs_job_live AS job
SET target = following.assigned_worker, assigned_worker = following.assigned_worker
FROM following
WHERE job.id = ANY(ARRAY[following.id])
RETURNING job.id;
