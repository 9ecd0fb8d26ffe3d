-- When the next job falls due, in seconds from now; the promoter sleeps until then.
SELECT extract(EPOCH FROM job.run_at - clock_timestamp())::float8
FROM jobs_job_live AS job
WHERE job.state IN ('scheduled', 'retry_wait')
ORDER BY job.run_at
LIMIT 1;
