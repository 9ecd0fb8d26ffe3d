-- End attempts, but only those whose fence, session and state still match; the ledger, the shelf and the
-- event are written in the same statement. Rows that come back empty-handed are fenced (report_missing.sql).
-- `id = ANY(ARRAY[…])` is an equality that leaves no way but the index on id: where dead rows fill the table and
-- hardly one is alive, PostgreSQL takes it for tiny, and would read any index of it from end to end to join.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

asked AS MATERIALIZED (
    SELECT *
    FROM unnest(
        string_to_array(%(ids)s::text, ' ')::uuid [], string_to_array(%(fences)s::text, ' ')::bigint [],
        string_to_array(%(sessions)s::text, ' ')::uuid [], string_to_array(%(outcomes)s::text, ' '),
        string_to_array(%(ledger_ids)s::text, ' ')::uuid [], %(results)s::text [], %(delays_ms)s::bigint [], %(error_classes)s::text [],
        %(error_messages)s::text [], %(tracebacks)s::text [], %(runtimes)s::text []
    ) AS u (
        id, fence, session_id, outcome, ledger_id, result, delay_ms, error_class, error_message, traceback, runtime
    )
),

held AS MATERIALIZED (
    SELECT
        job.id, job.queue_id, job.fence, job.attempt, job.max_attempts, job.losses, job.max_losses, job.snoozes,
        job.max_snoozes, job.priority, job.ranked_aging, job.rank, job.run_at, job.started_at, job.deadline_at,
        job.cancel_requested_at, job.generation, job.has_dependents, job.session_id, job.retry_policy_id, job.shard,
        job.state AS found, job.resume_state AS held_back,
        asked.ledger_id, asked.result, asked.delay_ms, asked.error_class, asked.error_message, asked.traceback,
        asked.runtime,
        CASE
            WHEN asked.outcome IN ('success', 'needs_approval')
                AND clock.now > job.deadline_at + %(grace_seconds)s::float8 * interval '1 second' THEN 'timeout'
            WHEN job.cancel_requested_at IS NOT NULL
                AND asked.outcome IN ('success', 'released', 'snoozed', 'needs_approval') THEN 'cancelled'
            ELSE asked.outcome
        END AS outcome
    FROM asked
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[asked.id])
    CROSS JOIN clock
    WHERE job.fence IS NOT DISTINCT FROM asked.fence AND job.session_id IS NOT DISTINCT FROM asked.session_id
      -- What ran by a reservation that has moved on does not count; it may only be taken back.
      AND (
          job.reservation_generation IS NULL
          OR asked.outcome IN ('lost', 'released', 'timeout', 'crashed', 'cancelled')
          OR EXISTS (
              SELECT FROM workers_reservation AS reservation
              WHERE reservation.workflow_id = job.workflow_id AND reservation.generation = job.reservation_generation
                AND reservation.state IN ('bound', 'draining')
          )
      )
    ORDER BY asked.id
    FOR NO KEY UPDATE OF job
),

judged AS MATERIALIZED (
    SELECT
        held.*,
        CASE
            WHEN held.cancel_requested_at IS NOT NULL OR held.outcome = 'cancelled' THEN 'cancelled'
            WHEN held.outcome = 'success' THEN 'completed'
            WHEN held.outcome = 'permanent_error' THEN 'dead_letter'
            WHEN held.outcome IN ('lost', 'crashed')
                AND (held.losses + 1 >= held.max_losses OR held.attempt >= held.max_attempts) THEN 'dead_letter'
            WHEN held.outcome IN ('retryable_error', 'timeout')
                AND held.attempt >= held.max_attempts THEN 'dead_letter'
            WHEN held.outcome = 'snoozed' AND held.snoozes >= held.max_snoozes THEN 'dead_letter'
            WHEN held.outcome = 'snoozed' THEN 'scheduled'
            WHEN held.outcome = 'needs_approval' THEN 'awaiting_approval'
            WHEN held.outcome = 'released' THEN 'queued'
            ELSE 'retry_wait'
        END AS state
    FROM held
    WHERE held.found = 'running'
),

-- Ends that wake dependents need a second statement in the same transaction: left alone when asked to.
verdict AS MATERIALIZED (
    SELECT
        judged.*,
        judged.state IN ('completed', 'dead_letter', 'cancelled') AS final,
        CASE
            WHEN judged.state = 'cancelled' THEN 'cancelled'
            WHEN judged.state <> 'dead_letter' THEN NULL
            WHEN judged.outcome = 'permanent_error' THEN 'permanent_error'
            WHEN judged.outcome IN ('lost', 'crashed') THEN 'lost_exhausted'
            WHEN judged.outcome = 'snoozed' THEN 'snoozes_exhausted'
            ELSE 'attempts_exhausted'
        END AS reason
    FROM judged
    WHERE NOT (
        %(alone)s::boolean AND judged.has_dependents
        AND judged.state IN ('completed', 'dead_letter', 'cancelled')
    )
),

-- What goes on: when, and at which rank. Lost, crashed and released work keeps the rank it had, and so does what a
-- person is asked about.
onward AS (
    SELECT
        verdict.id, verdict.outcome, due.at, verdict.result,
        -- Nobody need promote what is due already.
        CASE WHEN verdict.state IN ('retry_wait', 'scheduled') AND due.at <= clock.now THEN 'queued' ELSE verdict.state END AS state,
        -- Where it goes instead, if its workflow was paused meanwhile (pause_workflow.sql).
        verdict.held_back,
        -- A worker that hands a job back for its own reasons names none.
        verdict.error_class IS NOT NULL AS collateral,
        CASE
            WHEN verdict.outcome IN ('lost', 'crashed', 'released', 'needs_approval') THEN verdict.rank
            ELSE (extract(EPOCH FROM due.at) * 1000000)::bigint
                - verdict.priority * coalesce(verdict.ranked_aging, 4503599627370496)
        END AS rank
    FROM verdict
    CROSS JOIN clock
    INNER JOIN queues_queue AS queue ON verdict.queue_id = queue.id
    LEFT JOIN queues_retrypolicy AS policy ON policy.id = coalesce(verdict.retry_policy_id, queue.retry_policy_id)
    CROSS JOIN LATERAL (
        SELECT
            CASE
                WHEN policy.id IS NULL AND %(intervals_ms)s::bigint [] IS NULL THEN 'exponential'
                ELSE coalesce(policy.kind, 'intervals')
            END AS kind
    ) AS form
    CROSS JOIN LATERAL (
        SELECT
            form.kind,
            coalesce(policy.base_delay_ms, 1000) AS base,
            CASE form.kind WHEN 'intervals' THEN 1000000000000 ELSE coalesce(policy.max_delay_ms, 300000) END AS ceiling,
            coalesce(policy.jitter, %(intervals_ms)s::bigint [] IS NULL) AS jitter,
            CASE WHEN policy.id IS NULL THEN %(intervals_ms)s::bigint [] ELSE policy.intervals_ms END AS intervals,
            greatest(verdict.attempt, 1)::float8 AS n
    ) AS curve
    CROSS JOIN LATERAL (
        SELECT
            least(
                curve.ceiling,
                CASE curve.kind
                    WHEN 'fixed' THEN curve.base
                    WHEN 'linear' THEN curve.base * curve.n
                    WHEN 'quartic' THEN power(curve.n - 1, 4) * 1000 + curve.base
                    WHEN 'intervals'
                        THEN coalesce(curve.intervals[least(curve.n::int, cardinality(curve.intervals))], curve.base)
                    ELSE curve.base * power(2, least(curve.n - 1, 60))
                END
            ) AS ms
    ) AS plain
    CROSS JOIN LATERAL (
        SELECT
            clock.now + interval '1 millisecond' * coalesce(
                verdict.delay_ms,
                CASE
                    WHEN verdict.outcome IN ('released', 'needs_approval') THEN 0
                    WHEN curve.jitter THEN least(curve.ceiling, plain.ms * (0.75 + random() / 2))
                    ELSE plain.ms
                END
            ) AS at
    ) AS due
    WHERE NOT verdict.final
),

ended AS (
    DELETE FROM jobs_job_live AS job
    USING verdict
    WHERE job.id = ANY(ARRAY[verdict.id]) AND verdict.final
    RETURNING
        job.id, job.queue_id, job.created_at, job.run_at, job.rank, job.ranked_aging, job.batch_id,
        job.workflow_id, job.retry_policy_id, job.schedule_id, job.submitted_by, job.required_worker,
        job.assigned_worker, job.timeout_ms, job.priority, job.max_attempts, job.max_losses, job.max_snoozes,
        job.generation, job.fence, job.session_id, job.started_at, job.deadline_at, job.cancel_requested_at,
        job.pending, job.reservation_generation, job.attempt, job.snoozes, job.releases,
        job.has_dependents, job.requires_approval, job.on_parent_failure, job.placement, job.type,
        job.unique_key, job.concurrency_key, job.request_id, job.payload, job.labels, job.approval,
        job.losses + (verdict.outcome IN ('lost', 'crashed'))::int AS losses,
        verdict.result::jsonb AS result, verdict.state, verdict.reason
),

shelved AS (
    INSERT INTO jobs_job (
        id, queue_id, created_at, run_at, rank, ranked_aging, batch_id,
        workflow_id, retry_policy_id, schedule_id, submitted_by, required_worker,
        assigned_worker, timeout_ms, priority, max_attempts, max_losses, max_snoozes,
        generation, fence, session_id, started_at, deadline_at, cancel_requested_at,
        pending, reservation_generation, attempt, snoozes, releases,
        has_dependents, requires_approval, on_parent_failure, placement, type,
        unique_key, concurrency_key, request_id, payload, labels, approval,
        losses, result, state, reason, finished_at, shelved_on
    )
    SELECT
        ended.*,
        clock.now,
        CASE WHEN ended.state = 'dead_letter' THEN date '9999-12-31' ELSE (clock.now AT TIME ZONE 'UTC')::date END
    FROM ended
    CROSS JOIN clock
),

went_on AS (
    UPDATE jobs_job_live AS job
    SET
        state = coalesce(onward.held_back, onward.state),
        resume_state = CASE WHEN onward.held_back IS NOT NULL THEN onward.state END,
        run_at = onward.at,
        rank = onward.rank,
        session_id = NULL,
        started_at = NULL,
        deadline_at = NULL,
        shard = NULL,
        attempt = job.attempt - (onward.outcome IN ('snoozed', 'released', 'needs_approval'))::int,
        losses = job.losses + (onward.outcome IN ('lost', 'crashed'))::int,
        snoozes = job.snoozes + (onward.outcome = 'snoozed')::int,
        releases = job.releases + (onward.outcome = 'released' AND onward.collateral)::int,
        result = CASE WHEN onward.outcome = 'needs_approval' THEN onward.result::jsonb ELSE job.result END,
        approval = CASE
            WHEN onward.outcome = 'needs_approval' THEN jsonb_build_object('asked_at', onward.at)
            ELSE job.approval
        END
    FROM onward
    WHERE job.id = ANY(ARRAY[onward.id])
    RETURNING job.id, job.fence, onward.outcome, job.state, job.has_dependents, job.run_at
),

-- What was charged at a gate goes back to it: jobs before gates, and those in order.
freed AS MATERIALIZED (
    SELECT verdict.queue_id, verdict.shard, count(*) AS jobs
    FROM verdict
    WHERE verdict.shard IS NOT NULL
    GROUP BY verdict.queue_id, verdict.shard
),

gates AS MATERIALIZED (
    SELECT gate.queue_id, gate.shard, freed.jobs
    FROM freed
    INNER JOIN queues_gate AS gate ON freed.queue_id = gate.queue_id AND freed.shard = gate.shard
    ORDER BY gate.queue_id, gate.shard
    FOR NO KEY UPDATE OF gate
),

returned AS (
    UPDATE queues_gate AS gate
    SET in_flight = greatest(gate.in_flight - gates.jobs, 0)
    FROM gates
    WHERE gate.queue_id = gates.queue_id AND gate.shard = gates.shard
),

ledger AS (
    INSERT INTO jobs_attempt (
        id, job_id, queue_id, session_id, worker_id, fence, run_at, started_at, finished_at, generation, attempt,
        outcome, error_class, error_message, traceback, runtime
    )
    SELECT
        verdict.ledger_id, verdict.id, verdict.queue_id, verdict.session_id, session.worker_id, verdict.fence,
        verdict.run_at, verdict.started_at, clock.now, verdict.generation, verdict.attempt,
        verdict.outcome, verdict.error_class, verdict.error_message, verdict.traceback, verdict.runtime::jsonb
    FROM verdict
    CROSS JOIN clock
    LEFT JOIN workers_session AS session ON verdict.session_id = session.id
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, attempts, errors)
    SELECT queue.project_id, fact.queue_id, 'job.' || fact.state, fact.state, fact.job_ids, fact.attempts, fact.errors
    FROM (
        SELECT
            verdict.queue_id, coalesce(onward.held_back, onward.state, verdict.state) AS state,
            array_agg(verdict.id) AS job_ids, array_agg(verdict.attempt) AS attempts,
            CASE
                WHEN count(verdict.error_class) > 0
                    THEN array_agg(left(verdict.error_class || ': ' || verdict.error_message, 200))
            END AS errors
        FROM verdict
        LEFT JOIN onward ON verdict.id = onward.id
        GROUP BY verdict.queue_id, coalesce(onward.held_back, onward.state, verdict.state)
    ) AS fact
    INNER JOIN queues_queue AS queue ON fact.queue_id = queue.id
)

SELECT verdict.id, verdict.fence, verdict.outcome, verdict.state, verdict.has_dependents, FALSE AS deferred, NULL AS run_at
FROM verdict
WHERE verdict.final
UNION ALL
SELECT went_on.id, went_on.fence, went_on.outcome, went_on.state, went_on.has_dependents, FALSE, went_on.run_at
FROM went_on
UNION ALL
SELECT judged.id, judged.fence, judged.outcome, judged.state, judged.has_dependents, TRUE, NULL
FROM judged
WHERE %(alone)s::boolean AND judged.has_dependents AND judged.state IN ('completed', 'dead_letter', 'cancelled');
