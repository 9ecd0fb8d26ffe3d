-- Put up to a thousand jobs where they wait, or name the live job that already holds a unique key.
-- NULL for an array stands for "the default for all": unnest pads the shorter ones with NULL. Ids and payloads
-- come as one text each, which is read several times faster than an array; JSON cannot hold the separator.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

asked AS MATERIALIZED (
    SELECT *
    FROM unnest(
        string_to_array(%(ids)s::text, ' ')::uuid [], string_to_array(%(queue_ids)s::text, ' ')::uuid [],
        %(types)s::text [], string_to_array(%(payloads)s::text, chr(31)),
        %(priorities)s::smallint [], %(run_ats)s::timestamptz [], %(delays_ms)s::bigint [],
        %(timeouts_ms)s::bigint [], %(policies)s::uuid [], %(max_attempts)s::smallint [],
        %(max_losses)s::smallint [], %(pendings)s::integer [], %(on_failures)s::text [],
        %(unique_keys)s::text [], %(labels)s::text [], %(approvals)s::boolean [], %(concurrency_keys)s::text [],
        %(schedules)s::uuid [], %(max_snoozes)s::smallint [], %(workflows)s::uuid [], %(dependents)s::boolean [],
        %(placements)s::text [], %(workers)s::uuid []
    ) WITH ORDINALITY AS u (
        id, queue_id, type, payload, priority, run_at, delay_ms, timeout_ms, retry_policy_id, max_attempts,
        max_losses, pending, on_parent_failure, unique_key, labels, requires_approval, concurrency_key, schedule_id,
        max_snoozes, workflow_id, has_dependents, placement, required_worker, place
    )
),

timed AS MATERIALIZED (
    SELECT
        asked.*,
        queue.project_id,
        clock.now AS at,
        coalesce(asked.priority, queue.default_priority) AS settled_priority,
        coalesce(asked.retry_policy_id, queue.retry_policy_id) AS policy_id,
        queue.aging_seconds::bigint * 1000000 AS aging
    FROM asked
    CROSS JOIN clock
    INNER JOIN queues_queue AS queue ON asked.queue_id = queue.id AND queue.deleted_at IS NULL
),

placed AS (
    INSERT INTO jobs_job_live (
        id, queue_id, type, payload, priority, created_at, run_at, rank, ranked_aging, timeout_ms,
        retry_policy_id, max_attempts, max_losses, max_snoozes, pending, on_parent_failure, unique_key,
        labels, requires_approval, schedule_id, batch_id, submitted_by, request_id, concurrency_key, workflow_id, has_dependents,
        key_full, placement, required_worker, target, state
    )
    SELECT
        timed.id,
        timed.queue_id,
        timed.type,
        timed.payload::jsonb,
        timed.settled_priority,
        timed.at,
        due.at,
        -- a microsecond apart, so that they stand in line as they were given
        (extract(EPOCH FROM due.at) * 1000000)::bigint + timed.place - 1
        - timed.settled_priority * coalesce(timed.aging, 4503599627370496),
        timed.aging,
        timed.timeout_ms,
        timed.retry_policy_id,
        -- so many listed intervals are so many retries; least() passes over the NULL of other kinds
        coalesce(
            timed.max_attempts,
            least(policy.max_attempts, cardinality(policy.intervals_ms) + 1),
            %(default_attempts)s::smallint
        ),
        coalesce(timed.max_losses, policy.max_losses, 3),
        coalesce(timed.max_snoozes, %(snoozes)s::smallint),
        coalesce(timed.pending, 0),
        timed.on_parent_failure,
        timed.unique_key,
        timed.labels::jsonb,
        coalesce(timed.requires_approval, FALSE),
        timed.schedule_id,
        %(batch_id)s::uuid,
        %(submitted_by)s::uuid,
        %(request_id)s::text,
        timed.concurrency_key,
        timed.workflow_id,
        coalesce(timed.has_dependents, FALSE),
        -- whoever has a key waits to be let through (admit.sql)
        timed.concurrency_key IS NOT NULL AND stand.state = 'queued',
        timed.placement,
        timed.required_worker,
        -- as aim.sql says, which knows of workflows
        CASE
            WHEN timed.placement = 'job' THEN coalesce(timed.required_worker, uuid '00000000-0000-0000-0000-000000000001')
            WHEN timed.placement = 'dispatch' THEN uuid '00000000-0000-0000-0000-000000000002'
        END,
        stand.state
    FROM timed
    CROSS JOIN LATERAL (
        SELECT greatest(
            timed.at, timed.run_at, timed.at + timed.delay_ms * interval '1 millisecond'
        ) AS at
    ) AS due
    CROSS JOIN LATERAL (
        SELECT
            CASE
                WHEN timed.pending > 0 THEN 'blocked'
                WHEN timed.requires_approval THEN 'awaiting_approval'
                WHEN due.at > timed.at THEN 'scheduled'
                ELSE 'queued'
            END AS state
    ) AS stand
    LEFT JOIN queues_retrypolicy AS policy ON timed.policy_id = policy.id
    ORDER BY timed.unique_key, timed.place
    ON CONFLICT (queue_id, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
    RETURNING id, queue_id, state, created_at, run_at, rank, ranked_aging, priority, max_attempts, max_losses
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, placed.queue_id, 'job.enqueued', placed.state, array_agg(placed.id ORDER BY placed.id)
    FROM placed
    INNER JOIN queues_queue AS queue ON placed.queue_id = queue.id
    GROUP BY queue.project_id, placed.queue_id, placed.state
)

-- The whole row only where it is asked for: a thousand of them would be read for nothing.
SELECT
    id, state, TRUE AS is_new,
    CASE WHEN asked.whole THEN created_at END, CASE WHEN asked.whole THEN run_at END,
    CASE WHEN asked.whole THEN rank END, CASE WHEN asked.whole THEN ranked_aging END,
    CASE WHEN asked.whole THEN priority END, CASE WHEN asked.whole THEN max_attempts END,
    CASE WHEN asked.whole THEN max_losses END
FROM placed
CROSS JOIN (SELECT %(whole)s::boolean AS whole) AS asked;
