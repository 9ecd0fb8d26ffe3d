-- Hold some queued jobs of a queue, so that they can be cancelled (shelve.sql). Nobody is waited for.
SELECT job.id
FROM jobs_job_live AS job
WHERE job.queue_id = %(queue_id)s::uuid AND job.state = 'queued'
ORDER BY job.id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED;
