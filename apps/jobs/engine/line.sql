-- What an operator sees of a project: what runs, and what comes next; of a workflow the one job that stands for it.
-- Nothing is read that the answer does not need: each lane gives as many heads as are shown, of a queue's types only so
-- many are looked at (`steps`), of what is not due yet only the soonest of all tenants (`far`), and of a project's
-- workflows as many of the newest.
WITH RECURSIVE kinds AS (
    SELECT asked.queue_id, (
        SELECT job.type FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
        ORDER BY job.type LIMIT 1
    ) AS type, 1 AS step
    FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
    UNION ALL
    SELECT kinds.queue_id, (
        SELECT job.type FROM jobs_job_live AS job
        WHERE job.queue_id = kinds.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
          AND job.type > kinds.type
        ORDER BY job.type LIMIT 1
    ), kinds.step + 1
    FROM kinds
    WHERE kinds.type IS NOT NULL AND kinds.step < %(steps)s::int
),

heads AS (
    SELECT lane.id, row_number() OVER (PARTITION BY kinds.queue_id ORDER BY lane.rank, lane.id) AS position, lane.rank
    FROM kinds
    CROSS JOIN LATERAL (
        SELECT job.id, job.rank
        FROM jobs_job_live AS job
        WHERE job.queue_id = kinds.queue_id AND job.type = kinds.type AND job.state = 'queued' AND NOT job.key_full
          AND job.target IS NULL
        ORDER BY job.rank, job.id
        LIMIT %(reach)s::bigint
    ) AS lane
    WHERE kinds.type IS NOT NULL
),

-- The same of each worker, of what waits for it alone.
aims AS (
    SELECT asked.queue_id, first.target, first.type, 1 AS step
    FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
    CROSS JOIN LATERAL (
        SELECT job.target, job.type FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
        ORDER BY job.target, job.type LIMIT 1
    ) AS first
    UNION ALL
    SELECT aims.queue_id, next.target, next.type, aims.step + 1
    FROM aims
    CROSS JOIN LATERAL (
        SELECT job.target, job.type FROM jobs_job_live AS job
        WHERE job.queue_id = aims.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
          AND (job.target, job.type) > (aims.target, aims.type)
        ORDER BY job.target, job.type LIMIT 1
    ) AS next
    WHERE aims.step < %(reach)s::int
),

aimed AS (
    SELECT own.id
    FROM aims
    CROSS JOIN LATERAL (
        SELECT job.id
        FROM jobs_job_live AS job
        WHERE job.queue_id = aims.queue_id AND job.target = aims.target AND job.type = aims.type
          AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
        ORDER BY job.rank, job.id
        LIMIT %(reach)s::bigint
    ) AS own
),

-- The first of each key that has no place.
keys AS (
    SELECT asked.queue_id, (
        SELECT job.concurrency_key FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state = 'queued' AND job.key_full
        ORDER BY job.concurrency_key LIMIT 1
    ) AS key, 1 AS step
    FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
    UNION ALL
    SELECT keys.queue_id, (
        SELECT job.concurrency_key FROM jobs_job_live AS job
        WHERE job.queue_id = keys.queue_id AND job.state = 'queued' AND job.key_full AND job.concurrency_key > keys.key
        ORDER BY job.concurrency_key LIMIT 1
    ), keys.step + 1
    FROM keys
    WHERE keys.key IS NOT NULL AND keys.step < %(reach)s::int
),

held AS (
    SELECT first.id
    FROM keys
    CROSS JOIN LATERAL (
        SELECT job.id FROM jobs_job_live AS job
        WHERE job.queue_id = keys.queue_id AND job.concurrency_key = keys.key AND job.state = 'queued' AND job.key_full
        ORDER BY job.rank, job.id
        LIMIT 1
    ) AS first
    WHERE keys.key IS NOT NULL
),

later AS (
    SELECT soon.id
    FROM (
        SELECT job.id, job.queue_id, job.run_at FROM jobs_job_live AS job
        WHERE job.state IN ('scheduled', 'retry_wait')
        ORDER BY job.run_at
        LIMIT %(far)s::bigint
    ) AS soon
    WHERE soon.queue_id = ANY(%(queue_ids)s::uuid [])
    ORDER BY soon.run_at
    LIMIT %(reach)s::bigint
),

stopped AS (
    SELECT aside.id
    FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
    CROSS JOIN LATERAL (
        SELECT job.id FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.state IN ('paused', 'awaiting_approval')
        ORDER BY job.id
        LIMIT %(reach)s::bigint
    ) AS aside
),

flows AS (
    SELECT one.id
    FROM (
        SELECT recent.id
        FROM (
            SELECT workflow.id FROM jobs_workflow AS workflow
            WHERE workflow.project_id = %(project_id)s::uuid
            ORDER BY workflow.id DESC
            LIMIT %(far)s::bigint
        ) AS recent
        WHERE EXISTS (SELECT FROM jobs_job_live AS job WHERE job.workflow_id = recent.id)
        ORDER BY recent.id DESC
        LIMIT %(reach)s::bigint
    ) AS flow
    CROSS JOIN LATERAL (
        SELECT job.id FROM jobs_job_live AS job
        WHERE job.workflow_id = flow.id
        ORDER BY array_position(%(standing)s::text [], job.state), job.rank, job.id
        LIMIT 1
    ) AS one
),

chosen AS (
    SELECT found.id, max(found.position) AS position
    FROM (
        SELECT job.id, NULL::bigint AS position FROM jobs_job_live AS job
        WHERE job.state = 'running' AND job.queue_id = ANY(%(queue_ids)s::uuid [])
        UNION ALL
        (SELECT heads.id, heads.position FROM heads ORDER BY heads.rank, heads.id LIMIT %(reach)s::bigint)
        UNION ALL
        SELECT aimed.id, NULL FROM aimed
        UNION ALL
        SELECT held.id, NULL FROM held
        UNION ALL
        SELECT later.id, NULL FROM later
        UNION ALL
        SELECT stopped.id, NULL FROM stopped
        UNION ALL
        SELECT flows.id, NULL FROM flows
    ) AS found
    GROUP BY found.id
),

standing AS MATERIALIZED (
    SELECT
        job.*, chosen.position, array_position(%(standing)s::text [], job.state) AS stands,
        row_number() OVER (
            PARTITION BY coalesce(job.workflow_id, job.id)
            ORDER BY array_position(%(standing)s::text [], job.state), job.rank, job.id
        ) AS turn
    FROM chosen
    INNER JOIN jobs_job_live AS job ON chosen.id = job.id
)

SELECT
    job.id, job.queue_id, queue.name, job.type, job.state, job.reason, job.priority, job.run_at, job.created_at,
    job.started_at, job.finished_at, extract(EPOCH FROM clock_timestamp() - job.started_at)::float8 AS elapsed_seconds,
    job.attempt, job.max_attempts, progress.stage, progress.done, progress.total, last.error,
    job.cancel_requested_at IS NOT NULL AS cancel_requested, job.labels::text, job.workflow_id, job.batch_id,
    job.submitted_by, required.uid AS required_worker, assigned.uid AS assigned_worker,
    job.position, workflow.name AS workflow_name, runs.uid AS runs_on,
    job.state = 'paused' OR workflow.paused_at IS NOT NULL OR kind.type IS NOT NULL
    OR (queue.paused_at IS NOT NULL AND coalesce(queue.paused_until > clock_timestamp(), TRUE)) AS paused,
    CASE
        WHEN job.state = 'queued' THEN greatest(extract(EPOCH FROM clock_timestamp() - job.run_at)::float8, 0)
    END AS waiting_seconds
FROM standing AS job
INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
LEFT JOIN jobs_workflow AS workflow ON job.workflow_id = workflow.id
LEFT JOIN queues_pausedtype AS kind
    ON queue.project_id = kind.project_id AND job.type = kind.type
    AND (kind.paused_until IS NULL OR kind.paused_until > clock_timestamp())
LEFT JOIN workers_session AS session ON job.session_id = session.id AND job.state = 'running'
LEFT JOIN workers_worker AS runs ON session.worker_id = runs.id
LEFT JOIN workers_worker AS required ON coalesce(job.required_worker, workflow.required_worker) = required.id
LEFT JOIN workers_worker AS assigned ON coalesce(job.assigned_worker, workflow.assigned_worker) = assigned.id
LEFT JOIN jobs_progress AS progress ON job.id = progress.job_id AND job.fence = progress.fence
LEFT JOIN LATERAL (
    SELECT left(concat_ws(': ', attempt.error_class, attempt.error_message), 500) AS error
    FROM jobs_attempt AS attempt
    WHERE attempt.job_id = job.id
      AND attempt.generation = job.generation
      AND attempt.error_class IS NOT NULL
      AND attempt.finished_at >= job.created_at - interval '1 day'
      AND job.fence > 0
    ORDER BY attempt.fence DESC
    LIMIT 1
) AS last ON TRUE
WHERE job.turn = 1
ORDER BY job.stands, CASE WHEN job.state IN ('scheduled', 'retry_wait') THEN job.run_at END, job.rank, job.id;
