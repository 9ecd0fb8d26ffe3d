-- One page of the jobs of some queues, newest first, with what a list shows of each. list_jobs.py turns it round
-- for the page before: every DESC and "id <" of this file is one it replaces.
WITH found AS MATERIALIZED (
    (
        SELECT
            job.id, job.queue_id, job.type, job.state, job.reason, job.priority, job.run_at, job.created_at,
            job.started_at, job.finished_at, job.attempt, job.max_attempts, job.generation, job.fence,
            job.cancel_requested_at, job.labels, job.workflow_id, job.batch_id, job.submitted_by, job.required_worker,
            job.assigned_worker
        FROM jobs_job_live AS job
        WHERE %(live)s::boolean
          AND job.queue_id = ANY(%(queue_ids)s::uuid [])
          AND job.id < %(edge)s::uuid
          AND (%(states)s::text [] IS NULL OR job.state = ANY(%(states)s::text []))
          AND (%(types)s::text [] IS NULL OR job.type = ANY(%(types)s::text []))
          AND (%(labels)s::jsonb IS NULL OR job.labels @> %(labels)s::jsonb)
          AND (%(workflow)s::uuid IS NULL OR job.workflow_id = %(workflow)s::uuid)
          AND (%(batch)s::uuid IS NULL OR job.batch_id = %(batch)s::uuid)
          AND (%(created_after)s::timestamptz IS NULL OR job.created_at > %(created_after)s::timestamptz)
          AND (%(created_before)s::timestamptz IS NULL OR job.created_at < %(created_before)s::timestamptz)
        ORDER BY job.id DESC
        LIMIT %(limit)s::bigint
    )
    UNION ALL
    (
        SELECT shelf.*
        FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
        CROSS JOIN LATERAL (
            SELECT
                job.id, job.queue_id, job.type, job.state, job.reason, job.priority, job.run_at, job.created_at,
                job.started_at, job.finished_at, job.attempt, job.max_attempts, job.generation, job.fence,
                job.cancel_requested_at, job.labels, job.workflow_id, job.batch_id, job.submitted_by, job.required_worker,
                job.assigned_worker
            FROM jobs_job AS job
            WHERE %(ended)s::boolean
              AND (job.shelved_on BETWEEN %(since)s::date AND %(until)s::date OR job.shelved_on = '9999-12-31')
              AND job.queue_id = asked.queue_id
              AND job.id < %(edge)s::uuid
              AND (%(states)s::text [] IS NULL OR job.state = ANY(%(states)s::text []))
              AND (%(types)s::text [] IS NULL OR job.type = ANY(%(types)s::text []))
              AND (%(labels)s::jsonb IS NULL OR job.labels @> %(labels)s::jsonb)
              AND (%(workflow)s::uuid IS NULL OR job.workflow_id = %(workflow)s::uuid)
              AND (%(batch)s::uuid IS NULL OR job.batch_id = %(batch)s::uuid)
              AND (%(created_after)s::timestamptz IS NULL OR job.created_at > %(created_after)s::timestamptz)
              AND (%(created_before)s::timestamptz IS NULL OR job.created_at < %(created_before)s::timestamptz)
            ORDER BY job.id DESC
            LIMIT %(limit)s::bigint
        ) AS shelf
        ORDER BY shelf.id DESC
        LIMIT %(limit)s::bigint
    )
),

page AS MATERIALIZED (
    SELECT * FROM found
    ORDER BY found.id DESC
    LIMIT %(limit)s::bigint
)

SELECT
    page.id, page.queue_id, queue.name, page.type, page.state, page.reason, page.priority, page.run_at,
    page.created_at, page.started_at, page.finished_at,
    CASE
        WHEN page.state = 'running' OR page.finished_at IS NOT NULL
            THEN extract(EPOCH FROM coalesce(page.finished_at, clock_timestamp()) - page.started_at)::float8
    END AS elapsed_seconds,
    page.attempt, page.max_attempts, progress.stage, progress.done, progress.total, last.error,
    page.cancel_requested_at IS NOT NULL AS cancel_requested,
    page.labels::text, page.workflow_id, page.batch_id, page.submitted_by, required.uid, assigned.uid
FROM page
INNER JOIN queues_queue AS queue ON page.queue_id = queue.id
LEFT JOIN jobs_progress AS progress ON page.id = progress.job_id AND page.fence = progress.fence
LEFT JOIN workers_worker AS required ON page.required_worker = required.id
LEFT JOIN workers_worker AS assigned ON page.assigned_worker = assigned.id
LEFT JOIN LATERAL (
    SELECT left(concat_ws(': ', attempt.error_class, attempt.error_message), 500) AS error
    FROM jobs_attempt AS attempt
    WHERE attempt.job_id = page.id
      AND attempt.generation = page.generation
      AND attempt.error_class IS NOT NULL
      AND attempt.finished_at >= page.created_at - interval '1 day'
      AND page.fence > 0
      AND page.state <> 'completed'
    ORDER BY attempt.fence DESC
    LIMIT 1
) AS last ON TRUE
ORDER BY page.id DESC;
