-- One page of the dead letters of some queues, newest first, with the error that was their last and what stands
-- in the way of a replay. list_dead.py turns it round for the page before, as list_jobs.py does.
WITH page AS MATERIALIZED (
    SELECT shelf.*
    FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
    CROSS JOIN LATERAL (
        SELECT
            job.id, job.queue_id, job.type, job.reason, job.priority, job.attempt, job.max_attempts, job.created_at,
            job.finished_at, job.has_dependents, job.unique_key, last.error_class, last.error_message
        FROM jobs_job_dead AS job
        LEFT JOIN LATERAL (
            SELECT attempt.error_class, attempt.error_message
            FROM jobs_attempt AS attempt
            WHERE attempt.job_id = job.id
              AND attempt.fence = job.fence
              AND attempt.finished_at >= job.created_at - interval '1 day'
            LIMIT 1
        ) AS last ON TRUE
        WHERE job.queue_id = asked.queue_id
          AND job.id < %(edge)s::uuid
          AND (%(error_class)s::text IS NULL OR last.error_class = %(error_class)s::text)
        ORDER BY job.id DESC
        LIMIT %(limit)s::bigint
    ) AS shelf
    ORDER BY shelf.id DESC
    LIMIT %(limit)s::bigint
)

SELECT
    page.id, page.queue_id, queue.name, page.type, page.reason, page.priority, page.attempt, page.max_attempts,
    page.created_at, page.finished_at, page.error_class, left(page.error_message, 2000), blocker.ids
FROM page
INNER JOIN queues_queue AS queue ON page.queue_id = queue.id
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(way.id), '{}') AS ids
    FROM (
        SELECT live.id
        FROM jobs_job_live AS live
        WHERE live.queue_id = page.queue_id AND live.unique_key = page.unique_key
        UNION ALL
        SELECT child.id
        FROM jobs_dependency AS edge
        INNER JOIN jobs_job AS child ON edge.child_id = child.id
        WHERE page.has_dependents
          AND edge.parent_id = page.id
          AND child.state = 'cancelled'
          AND child.reason = 'parent_failed'
          AND child.shelved_on >= (page.created_at AT TIME ZONE 'UTC')::date
        LIMIT 10
    ) AS way
) AS blocker
ORDER BY page.id DESC;
