-- Keep lines of attempts that a session holds. It says whose they are, so only those that are its own are taken.
WITH kept AS (
    INSERT INTO jobs_log (job_id, fence, line, at, attempt, level, message)
    SELECT job.id, job.fence, line.line, clock_timestamp(), job.attempt, line.level, line.message
    FROM unnest(
        %(ids)s::uuid [], %(fences)s::bigint [], %(lines)s::int [], %(levels)s::text [], %(messages)s::text []
    ) AS line (job_id, fence, line, level, message)
    INNER JOIN jobs_job_live AS job ON line.job_id = job.id AND line.fence = job.fence
    WHERE job.session_id = %(session_id)s::uuid AND job.state = 'running'
    RETURNING line
)

SELECT count(*) FROM kept;
