-- Fence the sessions that hold running jobs and have fallen silent, and name every session that is gone.
-- Sessions are found from the running jobs themselves: a claim may commit after its session was fenced.
-- The lease is read again under the lock. One that lies further ahead than two leases came with the clock
-- of another server and is clamped. After a start of the server nobody is taken for silent for one lease.
WITH RECURSIVE holding AS (
    (
        SELECT job.session_id FROM jobs_job_live AS job
        WHERE job.state = 'running' ORDER BY job.session_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT job.session_id FROM jobs_job_live AS job
        WHERE job.state = 'running' AND job.session_id > holding.session_id ORDER BY job.session_id LIMIT 1
    )
    FROM holding
    WHERE holding.session_id IS NOT NULL
),

seen AS MATERIALIZED (
    SELECT session.id, session.lease_expires_at, session.lease_seconds, session.ended_at, session.fenced_at
    FROM workers_session AS session
    WHERE session.id = ANY(ARRAY(SELECT holding.session_id FROM holding))
      AND (
          session.ended_at IS NOT NULL
          OR session.fenced_at IS NOT NULL
          OR session.lease_expires_at < clock_timestamp()
          OR session.lease_expires_at > clock_timestamp() + 2 * session.lease_seconds * interval '1 second'
      )
    ORDER BY session.id
    FOR NO KEY UPDATE
),

clamped AS (
    UPDATE workers_session AS session
    SET lease_expires_at = clock_timestamp() + session.lease_seconds * interval '1 second'
    FROM seen
    WHERE session.id = seen.id
      AND seen.lease_expires_at > clock_timestamp() + 2 * seen.lease_seconds * interval '1 second'
      AND seen.ended_at IS NULL AND seen.fenced_at IS NULL
),

silent AS (
    UPDATE workers_session AS session
    SET fenced_at = clock_timestamp()
    FROM seen
    WHERE session.id = seen.id
      AND seen.ended_at IS NULL AND seen.fenced_at IS NULL
      AND seen.lease_expires_at < clock_timestamp()
      AND clock_timestamp() < coalesce(%(asked_at)s::timestamptz, clock_timestamp())
          + greatest(seen.lease_seconds / 4, 1) * interval '1 second'
      AND NOT EXISTS (
          SELECT
          FROM unnest(%(lengths)s::float8 [], %(ages)s::float8 []) AS outage (length, age)
          WHERE outage.length > greatest(seen.lease_seconds / 4, 1) AND outage.age < seen.lease_seconds
      )
      AND pg_postmaster_start_time() + seen.lease_seconds * interval '1 second' < clock_timestamp()
    RETURNING session.id
)

SELECT silent.id FROM silent
UNION
SELECT seen.id FROM seen WHERE seen.ended_at IS NOT NULL OR seen.fenced_at IS NOT NULL
UNION
SELECT holding.session_id FROM holding
WHERE holding.session_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM workers_session AS session WHERE session.id = holding.session_id);
