-- Keep lines that handlers wrote. They are told apart by fence, so a late line harms nobody.
WITH kept AS (
    INSERT INTO jobs_log (job_id, fence, line, at, attempt, level, message)
    SELECT line.job_id, line.fence, line.line, clock_timestamp(), line.attempt, line.level, line.message
    FROM unnest(
        %(ids)s::uuid [], %(fences)s::bigint [], %(lines)s::int [], %(attempts)s::smallint [], %(levels)s::text [],
        %(messages)s::text []
    ) AS line (job_id, fence, line, attempt, level, message)
    RETURNING line
)

SELECT count(*) FROM kept;
