-- The first jobs of one workflow, in the order in which they were made, with what a list of its steps shows of each.
WITH page AS MATERIALIZED (
    SELECT
        job.id, job.queue_id, job.type, job.state, job.resume_state, job.reason, job.priority, job.run_at, job.created_at,
        job.started_at, job.finished_at, job.attempt, job.max_attempts, job.generation, job.fence, job.pending,
        job.cancel_requested_at
    FROM jobs_job AS job
    WHERE job.workflow_id = %(workflow_id)s::uuid
      AND (job.shelved_on IS NULL OR job.shelved_on = date '9999-12-31' OR job.shelved_on >= %(since)s::date)
    ORDER BY job.id
    LIMIT %(limit)s::bigint
)

SELECT
    page.id, step.name, page.queue_id, queue.name, page.type, page.state, page.reason, page.priority, page.run_at,
    page.created_at, page.started_at, page.finished_at,
    CASE
        WHEN page.state = 'running' OR page.finished_at IS NOT NULL
            THEN extract(EPOCH FROM coalesce(page.finished_at, clock_timestamp()) - page.started_at)::float8
    END AS elapsed_seconds,
    page.attempt, page.max_attempts, page.pending, progress.stage, progress.done, progress.total, last.error,
    page.cancel_requested_at IS NOT NULL AS cancel_requested
FROM page
INNER JOIN queues_queue AS queue ON page.queue_id = queue.id
LEFT JOIN jobs_step AS step ON step.workflow_id = %(workflow_id)s::uuid AND page.id = step.job_id
LEFT JOIN jobs_progress AS progress ON page.id = progress.job_id AND page.fence = progress.fence
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
ORDER BY page.id;
