-- Attempts that the ledger holds twice.
SELECT entry.job_id || '/' || entry.fence
FROM jobs_attempt AS entry
GROUP BY entry.job_id, entry.fence
HAVING count(*) > 1
LIMIT %(limit)s;
