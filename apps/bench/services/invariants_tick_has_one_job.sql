-- Ticks that fired without a job, and jobs that two ticks claim.
SELECT min(tick.schedule_id::text || '/' || tick.scheduled_for)
FROM jobs_tick AS tick
WHERE tick.outcome = 'fired' OR tick.job_id IS NOT NULL
GROUP BY tick.job_id
HAVING tick.job_id IS NULL OR count(*) > 1
LIMIT %(limit)s;
