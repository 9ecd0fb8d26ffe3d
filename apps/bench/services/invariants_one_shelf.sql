-- Jobs that stand on more than one shelf.
SELECT job.id::text
FROM jobs_job AS job
GROUP BY job.id
HAVING count(*) > 1
LIMIT %(limit)s;
