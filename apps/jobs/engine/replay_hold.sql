-- Hold dead letters, with whoever now holds the unique key each of them would need.
SELECT
    job.id, job.queue_id,
    (
        SELECT live.id FROM jobs_job_live AS live
        WHERE live.queue_id = job.queue_id AND live.unique_key = job.unique_key
    ) AS holder
FROM jobs_job_dead AS job
WHERE job.id = ANY(%(ids)s::uuid [])
ORDER BY job.id
FOR UPDATE;
