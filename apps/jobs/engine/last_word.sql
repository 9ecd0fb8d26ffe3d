-- What jobs said last of their progress, as they end. Only of attempts that the session still holds: it comes before
-- their report, in the same breath.
INSERT INTO jobs_progress (job_id, fence, attempt, stage, done, total, note, at)
SELECT told.job_id, job.fence, job.attempt, told.stage, told.done, told.total, told.note, clock_timestamp()
FROM unnest(
    %(ids)s::uuid [], %(fences)s::bigint [], %(stages)s::text [], %(dones)s::bigint [], %(totals)s::bigint [],
    %(notes)s::text []
) AS told (job_id, fence, stage, done, total, note)
INNER JOIN jobs_job_live AS job ON told.job_id = job.id AND told.fence = job.fence
WHERE job.session_id = %(session_id)s::uuid AND job.state = 'running'
ORDER BY told.job_id
ON CONFLICT (job_id) DO UPDATE
SET
    fence = excluded.fence, attempt = excluded.attempt, stage = excluded.stage, done = excluded.done,
    total = excluded.total, note = excluded.note, at = excluded.at
RETURNING job_id;
