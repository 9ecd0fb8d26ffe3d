-- How things stand with one reservation: whether its worker is there, whether all that could not know of it has ended, what
-- still runs on the worker that is none of its workflow's, and what of the workflow runs elsewhere or waits.
SELECT
    worker.uid,
    worker.drained_at IS NOT NULL AS drained,
    EXISTS (
        SELECT FROM workers_session AS session
        WHERE session.worker_id = reservation.worker_id AND session.ended_at IS NULL AND session.fenced_at IS NULL
          AND (
              session.lease_expires_at > clock_timestamp()
              -- silent, and not given up yet by whoever takes its jobs (reap_sessions.sql)
              OR EXISTS (SELECT FROM jobs_job_live AS job WHERE job.session_id = session.id AND job.state = 'running')
          )
    ) AS is_there,
    NOT EXISTS (
        SELECT
        FROM pg_stat_activity AS other
        WHERE other.datname = current_database()
          AND other.pid <> pg_backend_pid()
          AND other.backend_type <> 'autovacuum worker'
          AND greatest(age(other.backend_xmin), age(other.backend_xid))
              >= age(mod(reservation.opens_after, 4294967296)::text::xid)
    ) AS is_known,
    (
        SELECT count(*)
        FROM workers_session AS session
        INNER JOIN jobs_job_live AS job ON session.id = job.session_id
        WHERE session.worker_id = reservation.worker_id AND job.state = 'running'
          AND job.workflow_id IS DISTINCT FROM reservation.workflow_id
    ) AS foreign_jobs,
    (
        SELECT count(*)
        FROM jobs_job_live AS job
        INNER JOIN workers_session AS session ON job.session_id = session.id
        WHERE job.workflow_id = reservation.workflow_id AND job.state = 'running'
          AND session.worker_id IS DISTINCT FROM reservation.worker_id
    ) AS elsewhere,
    (
        SELECT count(*)
        FROM jobs_job_live AS job
        WHERE job.workflow_id = reservation.workflow_id AND job.state = 'running'
    ) AS running,
    EXISTS (SELECT FROM jobs_job_live AS job WHERE job.workflow_id = reservation.workflow_id) AS is_live
FROM workers_reservation AS reservation
LEFT JOIN workers_worker AS worker ON reservation.worker_id = worker.id
WHERE reservation.id = %(reservation_id)s::uuid;
