-- What to take back: running jobs of sessions that are gone, and those past their deadline and its grace. A session that
-- was fenced within its lease was not silent: another of the same name began.
-- They are found again by nothing but the index on id, as in report.sql.
WITH found AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_live AS job
    WHERE job.state = 'running' AND job.session_id = ANY(%(gone)s::uuid [])
    UNION
    SELECT job.id
    FROM jobs_job_live AS job
    WHERE job.state = 'running'
      AND job.deadline_at + %(grace_seconds)s::float8 * interval '1 second' < clock_timestamp()
)

SELECT
    job.id, job.fence, job.session_id,
    job.session_id = ANY(%(gone)s::uuid []) AS lost,
    coalesce((
        SELECT session.fenced_at <= session.lease_expires_at FROM workers_session AS session WHERE session.id = job.session_id
    ), FALSE) AS superseded
FROM found
INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[found.id])
WHERE job.state IS NOT DISTINCT FROM 'running'
ORDER BY found.id
LIMIT %(limit)s
FOR NO KEY UPDATE OF job SKIP LOCKED;
