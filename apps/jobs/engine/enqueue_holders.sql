-- Name the live jobs that hold these unique keys. A second statement: the first one's snapshot
-- may be older than the job it collided with.
SELECT job.queue_id, job.unique_key, job.id, job.state
FROM unnest(%(queue_ids)s::uuid [], %(unique_keys)s::text []) AS asked (queue_id, unique_key)
INNER JOIN jobs_job_live AS job
    ON asked.queue_id = job.queue_id AND asked.unique_key = job.unique_key;
