-- Keep a session's lease, take its progress, and compare its jobs with the database's: which are to stop,
-- which are no longer its own, and which the session does not know it holds (a claim whose reply was lost).
-- The commit is asynchronous: a beat that a crash forgets is excused, for the server has just started.
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', TRUE)),

beat AS (
    UPDATE workers_session AS session
    SET
        heartbeat_at = clock_timestamp(),
        lease_expires_at = clock_timestamp() + session.lease_seconds * interval '1 second',
        draining = session.draining OR %(draining)s::boolean,
        sample = coalesce(%(sample)s::jsonb, session.sample)
    FROM workers_worker AS worker
    CROSS JOIN quick
    WHERE session.id = %(session_id)s::uuid
      AND session.worker_id = worker.id
      AND session.ended_at IS NULL
      AND session.fenced_at IS NULL
    RETURNING worker.drained_at IS NOT NULL AS drain
),

known AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::uuid [], %(fences)s::bigint []) AS k (id, fence)
),

held AS MATERIALIZED (
    SELECT job.id, job.fence, job.attempt, job.cancel_requested_at
    FROM jobs_job_live AS job
    WHERE job.session_id = %(session_id)s::uuid AND job.state = 'running'
      -- what runs by a reservation that has moved on is not its own any more
      AND (
          job.reservation_generation IS NULL
          OR EXISTS (
              SELECT FROM workers_reservation AS reservation
              WHERE reservation.workflow_id = job.workflow_id AND reservation.generation = job.reservation_generation
                AND reservation.state IN ('bound', 'draining')
          )
      )
),

said AS (
    INSERT INTO jobs_progress (job_id, fence, attempt, stage, done, total, note, at)
    SELECT told.job_id, held.fence, held.attempt, told.stage, told.done, told.total, told.note, clock_timestamp()
    FROM unnest(
        %(told_ids)s::uuid [], %(stages)s::text [], %(dones)s::bigint [], %(totals)s::bigint [], %(notes)s::text []
    ) AS told (job_id, stage, done, total, note)
    INNER JOIN held ON told.job_id = held.id
    INNER JOIN known ON held.id = known.id AND held.fence = known.fence
    WHERE EXISTS (SELECT FROM beat)
    ORDER BY told.job_id
    ON CONFLICT (job_id) DO UPDATE
    SET
        fence = excluded.fence, attempt = excluded.attempt, stage = excluded.stage, done = excluded.done,
        total = excluded.total, note = excluded.note, at = excluded.at
)

SELECT
    CASE WHEN beat.drain IS NULL THEN 'fenced' WHEN beat.drain THEN 'drain' ELSE 'alive' END AS verdict,
    NULL::uuid AS id,
    NULL::bigint AS fence
FROM (SELECT 1) AS one
LEFT JOIN beat ON TRUE
UNION ALL
SELECT
    CASE WHEN held.id IS NULL THEN 'lost' WHEN known.id IS NULL THEN 'unknown' ELSE 'cancel' END,
    coalesce(held.id, known.id),
    coalesce(held.fence, known.fence)
FROM held
FULL JOIN known ON held.id = known.id AND held.fence = known.fence
WHERE held.id IS NULL OR known.id IS NULL OR held.cancel_requested_at IS NOT NULL;
