-- The next queues that have something queued, from a cursor on: a loose walk over the lanes, one step per queue that
-- has work, however many jobs or idle queues there are.
WITH RECURSIVE busy AS (
    (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NULL AND job.queue_id > %(after)s::uuid
        ORDER BY job.queue_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NULL AND job.queue_id > busy.queue_id
        ORDER BY job.queue_id LIMIT 1
    )
    FROM busy
    WHERE busy.queue_id IS NOT NULL
)

SELECT busy.queue_id
FROM busy
WHERE busy.queue_id IS NOT NULL
LIMIT %(limit)s;
