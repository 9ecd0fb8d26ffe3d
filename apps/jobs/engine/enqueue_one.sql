-- Put one job where it waits: what enqueue.sql does for many, for the plain case of one that has neither parents
-- nor a unique key. A third of the time of the other, which unfolds arrays and may meet the holder of a key.
WITH place AS MATERIALIZED (
    SELECT
        queue.project_id,
        due.now,
        due.at,
        coalesce(%(priority)s::smallint, queue.default_priority) AS priority,
        queue.aging_seconds::bigint * 1000000 AS aging,
        -- so many listed intervals are so many retries; least() passes over the NULL of other kinds
        coalesce(
            %(max_attempts)s::smallint,
            least(policy.max_attempts, cardinality(policy.intervals_ms) + 1),
            %(default_attempts)s::smallint
        ) AS max_attempts,
        coalesce(%(max_losses)s::smallint, policy.max_losses, 3) AS max_losses
    FROM queues_queue AS queue
    LEFT JOIN queues_retrypolicy AS policy ON policy.id = coalesce(%(policy)s::uuid, queue.retry_policy_id)
    CROSS JOIN (
        SELECT
            clock.now,
            greatest(clock.now, %(run_at)s::timestamptz, clock.now + %(delay_ms)s::bigint * interval '1 millisecond') AS at
        FROM (SELECT clock_timestamp() AS now OFFSET 0) AS clock
    ) AS due
    WHERE queue.id = %(queue_id)s::uuid AND queue.deleted_at IS NULL
),

placed AS (
    INSERT INTO jobs_job_live (
        id, queue_id, type, payload, priority, created_at, run_at, rank, ranked_aging, timeout_ms,
        retry_policy_id, max_attempts, max_losses, max_snoozes, on_parent_failure,
        labels, requires_approval, schedule_id, batch_id, submitted_by, request_id, concurrency_key, workflow_id, key_full,
        placement, required_worker, target, state
    )
    SELECT
        %(id)s::uuid, %(queue_id)s::uuid, %(type)s::text, %(payload)s::text::jsonb, place.priority, place.now, place.at,
        (extract(EPOCH FROM place.at) * 1000000)::bigint - place.priority * coalesce(place.aging, 4503599627370496),
        place.aging, %(timeout_ms)s::bigint, %(policy)s::uuid, place.max_attempts, place.max_losses,
        %(snoozes)s::smallint, %(on_failure)s::text, %(labels)s::text::jsonb, %(approval)s::boolean, %(schedule_id)s::uuid,
        %(batch_id)s::uuid, %(submitted_by)s::uuid, %(request_id)s::text, %(concurrency_key)s::text,
        %(workflow_id)s::uuid,
        -- whoever has a key waits to be let through (admit.sql)
        %(concurrency_key)s::text IS NOT NULL AND NOT %(approval)s::boolean AND place.at <= place.now,
        %(placement)s::text, %(worker)s::uuid,
        -- as aim.sql says, which knows of workflows
        CASE
            WHEN %(placement)s::text = 'job' THEN coalesce(%(worker)s::uuid, uuid '00000000-0000-0000-0000-000000000001')
            WHEN %(placement)s::text = 'dispatch' THEN uuid '00000000-0000-0000-0000-000000000002'
        END,
        CASE
            WHEN %(approval)s::boolean THEN 'awaiting_approval'
            WHEN place.at > place.now THEN 'scheduled'
            ELSE 'queued'
        END
    FROM place
    RETURNING id, state, created_at, run_at, rank, ranked_aging, priority, max_attempts, max_losses
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT place.project_id, %(queue_id)s::uuid, 'job.enqueued', placed.state, ARRAY[placed.id]
    FROM placed
    CROSS JOIN place
)

SELECT
    id, state, TRUE AS is_new, created_at, run_at, rank, ranked_aging, priority, max_attempts, max_losses
FROM placed;
