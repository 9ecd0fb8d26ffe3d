-- Count what waits, runs and died in some queues, in none of them further than a cap.
WITH running AS MATERIALIZED (
    SELECT job.queue_id, count(*) AS jobs
    FROM jobs_job_live AS job
    WHERE job.state = 'running' AND job.queue_id = ANY(%(queue_ids)s::uuid [])
    GROUP BY job.queue_id
)

SELECT
    asked.queue_id,
    least(waiting.jobs + for_one.jobs + behind_keys.jobs, %(cap)s::bigint) AS waiting,
    waiting.oldest_at,
    coalesce(running.jobs, 0) AS running,
    dead.jobs AS dead
FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, min(lane.run_at) AS oldest_at
    FROM (
        SELECT job.run_at
        FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
        LIMIT %(cap)s::bigint
    ) AS lane
) AS waiting
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT job.id
        FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
        LIMIT %(cap)s::bigint
    ) AS lane
) AS for_one
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT job.id
        FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state = 'queued' AND job.key_full
        LIMIT %(cap)s::bigint
    ) AS lane
) AS behind_keys
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT job.id
        FROM jobs_job_dead AS job
        WHERE job.queue_id = asked.queue_id
        LIMIT %(cap)s::bigint
    ) AS shelf
) AS dead
LEFT JOIN running ON asked.queue_id = running.queue_id;
