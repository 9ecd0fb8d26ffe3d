-- Which of a few queues have something queued, from a cursor on: one look into the lanes for each.
SELECT asked.id
FROM unnest(%(queues)s::uuid []) AS asked (id)
CROSS JOIN LATERAL (
    SELECT 1 FROM jobs_job_live AS job
    WHERE job.queue_id = asked.id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
    LIMIT 1
) AS lane
WHERE asked.id > %(after)s::uuid
ORDER BY asked.id
LIMIT %(limit)s;
