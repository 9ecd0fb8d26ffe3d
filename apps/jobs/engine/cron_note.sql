-- Write what became of ticks. One that stands in the ledger already was somebody else's: no job is made for it again.
INSERT INTO jobs_tick (schedule_id, scheduled_for, fired_at, outcome, why, job_id, deadline_at)
SELECT
    told.schedule_id, told.at, CASE WHEN told.outcome = 'fired' THEN clock_timestamp() END,
    told.outcome, told.why, told.job_id, told.deadline_at
FROM unnest(
    %(schedules)s::uuid [], %(ats)s::timestamptz [], %(outcomes)s::text [], %(whys)s::text [], %(jobs)s::uuid [],
    %(deadlines)s::timestamptz []
) AS told (schedule_id, at, outcome, why, job_id, deadline_at)
ON CONFLICT (schedule_id, scheduled_for) DO NOTHING
RETURNING schedule_id, scheduled_for;
