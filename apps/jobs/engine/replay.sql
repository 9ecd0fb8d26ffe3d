-- Move dead letters back to the live shelf as new generations: attempts start again, the ledger stays.
-- The caller holds them and has looked at their descendants. One whose unique key is taken comes back without a state.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

asked AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::uuid [], %(delays_ms)s::bigint []) AS a (id, delay_ms)
),

taken AS (
    DELETE FROM jobs_job_dead AS job
    USING asked
    WHERE job.id = asked.id
    RETURNING
        job.id, job.queue_id, job.created_at, job.ranked_aging, job.batch_id,
        job.workflow_id, job.retry_policy_id, job.schedule_id, job.submitted_by, job.required_worker,
        job.assigned_worker, job.timeout_ms, job.priority, job.max_attempts, job.max_losses, job.max_snoozes,
        job.generation, job.fence,
        -- as the edges say: some were made while it was dead, by children that run whether it fails or not
        EXISTS (SELECT FROM jobs_dependency AS edge WHERE edge.parent_id = job.id) AS has_dependents,
        job.requires_approval, job.on_parent_failure, job.placement, job.type,
        job.unique_key, job.concurrency_key, job.request_id, job.labels,
        coalesce(%(payload)s::text::jsonb, job.payload) AS payload, coalesce(asked.delay_ms, 0) AS delay_ms
),

-- How far the generation before came is not how far this one is.
silenced AS (DELETE FROM jobs_progress AS progress USING taken WHERE progress.job_id = taken.id),

placed AS (
    INSERT INTO jobs_job_live (
        id, queue_id, created_at, ranked_aging, batch_id,
        workflow_id, retry_policy_id, schedule_id, submitted_by, required_worker,
        assigned_worker, timeout_ms, priority, max_attempts, max_losses, max_snoozes,
        generation, fence,
        has_dependents, requires_approval, on_parent_failure, placement, type,
        unique_key, concurrency_key, request_id, payload, labels,
        run_at, rank, key_full, state
    )
    SELECT
        taken.id, taken.queue_id, taken.created_at, taken.ranked_aging, taken.batch_id,
        taken.workflow_id, taken.retry_policy_id, taken.schedule_id, taken.submitted_by, taken.required_worker,
        taken.assigned_worker, taken.timeout_ms, taken.priority, taken.max_attempts, taken.max_losses,
        taken.max_snoozes, taken.generation + 1, taken.fence,
        taken.has_dependents, taken.requires_approval, taken.on_parent_failure, taken.placement, taken.type,
        taken.unique_key, taken.concurrency_key, taken.request_id, taken.payload, taken.labels,
        due.at,
        (extract(EPOCH FROM due.at) * 1000000)::bigint - taken.priority * coalesce(taken.ranked_aging, 4503599627370496),
        taken.concurrency_key IS NOT NULL AND taken.delay_ms <= 0,
        CASE WHEN taken.delay_ms > 0 THEN 'scheduled' ELSE 'queued' END
    FROM taken
    CROSS JOIN clock
    CROSS JOIN LATERAL (SELECT clock.now + taken.delay_ms * interval '1 millisecond' AS at) AS due
    ORDER BY taken.unique_key, taken.id
    ON CONFLICT (queue_id, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
    RETURNING id, queue_id, state
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, placed.queue_id, 'job.replayed', placed.state, array_agg(placed.id)
    FROM placed
    INNER JOIN queues_queue AS queue ON placed.queue_id = queue.id
    GROUP BY queue.project_id, placed.queue_id, placed.state
)

SELECT taken.id, taken.queue_id, placed.state, taken.unique_key
FROM taken
LEFT JOIN placed ON taken.id = placed.id;
