-- For reports that moved nothing: what the ledger says of their own fences, and count the fenced ones.
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::uuid [], %(fences)s::bigint [], %(outcomes)s::text []) AS u (id, fence, outcome)
),

told AS MATERIALIZED (
    SELECT
        asked.id, asked.fence,
        EXISTS (
            SELECT
            FROM jobs_attempt AS attempt
            WHERE attempt.job_id = asked.id AND attempt.fence = asked.fence
              AND attempt.finished_at >= %(since)s::timestamptz
              AND attempt.session_id = %(session_id)s::uuid
              AND (
                  attempt.outcome = asked.outcome
                  OR attempt.outcome = 'cancelled' AND asked.outcome IN ('success', 'released', 'snoozed', 'needs_approval')
              )
        ) AS applied
    FROM asked
),

counted AS (
    UPDATE workers_session AS session
    SET fenced_writes = session.fenced_writes + (SELECT count(*) FROM told WHERE NOT told.applied)
    WHERE session.id = %(session_id)s::uuid AND EXISTS (SELECT FROM told WHERE NOT told.applied)
)

SELECT id, fence, applied FROM told;
