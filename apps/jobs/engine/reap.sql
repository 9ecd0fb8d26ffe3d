-- What to take back: running jobs of sessions that are gone, and those past their deadline and its grace.
SELECT
    job.id, job.fence, job.session_id,
    job.session_id = ANY(%(gone)s::uuid []) AS lost
FROM jobs_job_live AS job
WHERE job.state = 'running'
  AND (
      job.session_id = ANY(%(gone)s::uuid [])
      OR job.deadline_at + %(grace_seconds)s::float8 * interval '1 second' < clock_timestamp()
  )
ORDER BY job.id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED;
