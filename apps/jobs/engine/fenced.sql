-- Hold a running job's row until the transaction ends, but only for whoever still owns it. Who takes it back skips
-- the row or waits, so that what is written beside it is committed before anybody else can claim the job.
-- A transaction that is left open is ended by the server once the job is overdue: the row must not stay held.
WITH held AS MATERIALIZED (
    SELECT job.id, job.deadline_at
    FROM jobs_job_live AS job
    INNER JOIN workers_session AS session ON job.session_id = session.id
    WHERE job.id = %(job_id)s::uuid
      AND job.state = 'running'
      AND job.fence = %(fence)s::bigint
      AND job.generation = %(generation)s::int
      AND job.session_id = %(session_id)s::uuid
      AND session.ended_at IS NULL
      AND session.fenced_at IS NULL
      AND (
          job.reservation_generation IS NULL
          OR EXISTS (
              SELECT FROM workers_reservation AS reservation
              WHERE reservation.workflow_id = job.workflow_id AND reservation.generation = job.reservation_generation
                AND reservation.state IN ('bound', 'draining')
          )
      )
    FOR NO KEY UPDATE OF job
),

bound AS (
    SELECT
        held.id,
        least(greatest(
            extract(EPOCH FROM held.deadline_at - clock_timestamp()) + %(grace_seconds)s::float8, 1.0
        ) * 1000, 2147483647)::int AS milliseconds
    FROM held
)

SELECT
    bound.id,
    CASE
        WHEN current_setting('server_version_num')::int >= 170000
            THEN set_config('transaction_timeout', bound.milliseconds::text, TRUE)
        ELSE set_config('idle_in_transaction_session_timeout', bound.milliseconds::text, TRUE)
    END
FROM bound;
