-- Move waiting jobs, already locked by the caller in this transaction, from the live shelf to today's
-- as cancelled. Not for running ones: those end in report.sql, which also writes the ledger.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

moved AS (
    DELETE FROM jobs_job_live AS job
    WHERE job.id = ANY(%(ids)s::uuid []) AND job.state <> 'running'
    RETURNING
        job.id, job.queue_id, job.created_at, job.run_at, job.rank, job.ranked_aging, job.batch_id,
        job.workflow_id, job.retry_policy_id, job.schedule_id, job.submitted_by, job.required_worker,
        job.assigned_worker, job.timeout_ms, job.priority, job.max_attempts, job.max_losses, job.max_snoozes,
        job.generation, job.fence, job.session_id, job.started_at, job.deadline_at, job.cancel_requested_at,
        job.pending, job.reservation_generation, job.attempt, job.losses, job.snoozes, job.releases, job.shard,
        job.has_dependents, job.requires_approval, job.on_parent_failure, job.placement, job.type,
        job.unique_key, job.concurrency_key, job.request_id, job.payload, job.labels, job.result, job.approval
),

shelved AS (
    INSERT INTO jobs_job (
        id, queue_id, created_at, run_at, rank, ranked_aging, batch_id,
        workflow_id, retry_policy_id, schedule_id, submitted_by, required_worker,
        assigned_worker, timeout_ms, priority, max_attempts, max_losses, max_snoozes,
        generation, fence, session_id, started_at, deadline_at, cancel_requested_at,
        pending, reservation_generation, attempt, losses, snoozes, releases, shard,
        has_dependents, requires_approval, on_parent_failure, placement, type,
        unique_key, concurrency_key, request_id, payload, labels, result, approval,
        state, reason, finished_at, shelved_on
    )
    SELECT
        moved.*,
        'cancelled', %(reason)s::text, clock.now, (clock.now AT TIME ZONE 'UTC')::date
    FROM moved
    CROSS JOIN clock
    RETURNING id, queue_id, has_dependents, unique_key
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, shelved.queue_id, 'job.cancelled', 'cancelled', array_agg(shelved.id),
        jsonb_build_object('reason', %(reason)s::text)
    FROM shelved
    INNER JOIN queues_queue AS queue ON shelved.queue_id = queue.id
    GROUP BY queue.project_id, shelved.queue_id
)

SELECT id, has_dependents FROM shelved;
