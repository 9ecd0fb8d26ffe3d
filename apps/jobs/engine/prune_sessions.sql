-- Forget some sessions that ended, were fenced or fell silent long ago and hold no job.
WITH gone AS (
    DELETE FROM workers_session AS session
    WHERE session.id = ANY(ARRAY(
        SELECT old.id
        FROM workers_session AS old
        WHERE coalesce(old.ended_at, old.fenced_at, old.lease_expires_at)
        < clock_timestamp() - %(days)s::integer * interval '1 day'
          AND NOT EXISTS (
              SELECT FROM jobs_job_live AS job WHERE job.session_id = old.id AND job.state = 'running'
          )
        LIMIT %(limit)s
    ))
    RETURNING session.id
)

SELECT count(*) FROM gone;
