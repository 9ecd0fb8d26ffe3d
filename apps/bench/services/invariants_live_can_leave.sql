-- Live jobs in a state that no verb can take them out of.
SELECT job.id::text
FROM jobs_job_live AS job
WHERE job.state <> ALL(%(leavable)s::text [])
LIMIT %(limit)s;
