-- Hold dead letters in id order: two replays of one take turns, and the second finds it gone.
SELECT job.id
FROM jobs_job_dead AS job
WHERE job.id = ANY(%(ids)s::uuid [])
ORDER BY job.id
FOR UPDATE;
