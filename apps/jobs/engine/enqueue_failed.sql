-- Hold parents that failed, so that none of them is replayed or revived before its child is written.
-- Whoever is missing from the answer has just been: it lives, and is looked for again.
SELECT job.id
FROM jobs_job AS job
WHERE job.id = ANY(%(parents)s::uuid []) AND job.shelved_on >= %(since)s::date
ORDER BY job.id
FOR KEY SHARE;
