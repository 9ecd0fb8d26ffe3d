-- Hold the workflows of some jobs, so that nobody binds, reserves or reassigns them until the transaction ends.
SELECT workflow.id
FROM jobs_workflow AS workflow
WHERE workflow.id = ANY(ARRAY(
    SELECT %(workflow_id)s::uuid
    UNION
    SELECT job.workflow_id FROM jobs_job_live AS job WHERE job.id = ANY(%(ids)s::uuid []) AND job.workflow_id IS NOT NULL
))
ORDER BY workflow.id
FOR SHARE;
