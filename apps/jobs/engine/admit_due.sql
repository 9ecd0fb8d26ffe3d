-- Walk the keys whose jobs wait to be let through, from one key on, `limit` of them: which have a place free, have no limit
-- any more, or let a less urgent job stand before them. The last row says where the walk ended, due or not.
WITH RECURSIVE walk AS (
    (
        SELECT 1 AS step, job.queue_id, job.concurrency_key AS key, job.rank
        FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND job.key_full
          AND (job.queue_id, job.concurrency_key) > (%(queue_id)s::uuid, %(key)s::text)
        ORDER BY job.queue_id, job.concurrency_key, job.rank, job.id
        LIMIT 1
    )
    UNION ALL
    SELECT walk.step + 1, following.queue_id, following.key, following.rank
    FROM walk
    CROSS JOIN LATERAL (
        SELECT job.queue_id, job.concurrency_key AS key, job.rank
        FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND job.key_full
          AND (job.queue_id, job.concurrency_key) > (walk.queue_id, walk.key)
        ORDER BY job.queue_id, job.concurrency_key, job.rank, job.id
        LIMIT 1
    ) AS following
    WHERE walk.step < %(limit)s::int
)

SELECT walk.queue_id, walk.key, walk.step, coalesce(held.jobs < queue.max_per_key OR held.last > walk.rank, TRUE) AS due
FROM walk
INNER JOIN queues_queue AS queue ON walk.queue_id = queue.id
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, coalesce(max(job.rank) FILTER (WHERE job.state = 'queued'), -9223372036854775808) AS last
    FROM jobs_job_live AS job
    WHERE queue.max_per_key IS NOT NULL AND job.queue_id = walk.queue_id AND job.concurrency_key = walk.key
      AND NOT job.key_full AND job.state IN ('queued', 'running')
) AS held
ORDER BY walk.step;
