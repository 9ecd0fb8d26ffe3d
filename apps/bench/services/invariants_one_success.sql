-- Jobs with two successes in one generation.
SELECT entry.job_id || '/' || entry.generation
FROM jobs_attempt AS entry
WHERE entry.outcome = 'success'
GROUP BY entry.job_id, entry.generation
HAVING count(*) > 1
LIMIT %(limit)s;
