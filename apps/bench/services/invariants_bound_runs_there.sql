-- Jobs that run on a worker other than the one that they, or the workflow they go with, are bound to.
SELECT job.id::text
FROM jobs_job_live AS job
INNER JOIN workers_session AS session ON job.session_id = session.id
LEFT JOIN jobs_workflow AS workflow ON job.workflow_id = workflow.id AND job.placement = 'dispatch'
WHERE job.state = 'running' AND job.placement IN ('job', 'dispatch') AND job.reservation_generation IS NULL
  AND session.worker_id IS DISTINCT FROM
      coalesce(job.required_worker, workflow.required_worker, workflow.assigned_worker, job.assigned_worker)
LIMIT %(limit)s;
