-- Live jobs that run without a holder, or that a session holds although they do not run.
SELECT job.id::text
FROM jobs_job_live AS job
WHERE CASE
    WHEN job.state = 'running'
        THEN job.session_id IS NULL OR job.started_at IS NULL OR job.deadline_at IS NULL OR job.fence <= 0
    ELSE job.session_id IS NOT NULL OR job.started_at IS NOT NULL OR job.deadline_at IS NOT NULL
END
LIMIT %(limit)s;
