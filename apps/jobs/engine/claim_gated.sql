-- Hand jobs of one queue with limits to a session, as many as the shard that claim_gate.sql holds admits, and charge
-- them there: a place of the cap, a token each, and while the breaker tries whether it can close, one job as its probe.
-- `aimed`: jobs that wait for its worker are among them, and are bound, as by claim_aimed.sql.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

holder AS MATERIALIZED (
    SELECT
        session.worker_id,
        session.reservation_id,
        session.concurrency - (
            SELECT count(*) FROM jobs_job_live AS mine
            WHERE mine.session_id = %(session_id)s::uuid AND mine.state = 'running'
        ) AS room,
        set_config('synchronous_commit', 'off', TRUE) AS quick
    FROM workers_session AS session
    WHERE session.id = %(session_id)s::uuid
      AND session.ended_at IS NULL
      AND session.fenced_at IS NULL
      AND NOT session.draining
      AND session.lease_expires_at > clock_timestamp()
),

reserved AS MATERIALIZED (
    SELECT reservation.id, reservation.generation
    FROM holder
    INNER JOIN workers_reservation AS reservation
        ON holder.reservation_id = reservation.id AND holder.worker_id = reservation.worker_id
    WHERE reservation.state = 'bound'
    FOR SHARE OF reservation
),

aim AS MATERIALIZED (
    SELECT own.target
    FROM holder
    CROSS JOIN LATERAL unnest(ARRAY[
        holder.worker_id, uuid '00000000-0000-0000-0000-000000000001', uuid '00000000-0000-0000-0000-000000000002'
    ]) AS own (target)
    WHERE %(aimed)s::boolean AND holder.reservation_id IS NULL
    UNION ALL
    SELECT reserved.id FROM reserved WHERE %(aimed)s::boolean
),

line AS MATERIALIZED (
    SELECT
        queue.id, queue.project_id, queue.timeout_ms, queue.rate_per_second AS rate, gate.shard,
        gate.breaker, gate.reopens_at, gate.probe_job,
        EXISTS (SELECT FROM queues_gate AS other WHERE other.queue_id = queue.id AND other.shard > 0) AS sharded,
        CASE
            WHEN gate.breaker <> 'closed' AND current_setting('fencepost.whole', TRUE) = 'true'
                THEN (SELECT sum(shard.cap - shard.in_flight) FROM queues_gate AS shard WHERE shard.queue_id = queue.id)
            ELSE gate.cap - gate.in_flight
        END AS places,
        CASE
            WHEN queue.rate_per_second IS NOT NULL
                THEN least(
                    coalesce(queue.burst, greatest(ceil(queue.rate_per_second), 1)),
                    gate.tokens + queue.rate_per_second * extract(EPOCH FROM clock.now - gate.refilled_at)::float8
                )
        END AS tokens
    FROM clock
    CROSS JOIN queues_queue AS queue
    INNER JOIN queues_gate AS gate ON queue.id = gate.queue_id
    WHERE queue.id = %(queue_id)s::uuid
      AND gate.shard = nullif(current_setting('fencepost.gate', TRUE), '')::smallint
      AND (queue.paused_at IS NULL OR queue.paused_until <= clock_timestamp())
),

room AS MATERIALIZED (
    SELECT
        least(
            %(limit)s::bigint,
            holder.room,
            line.places,
            floor(line.tokens)::bigint,
            CASE
                WHEN line.breaker = 'closed' THEN NULL
                WHEN line.breaker = 'open' AND line.reopens_at <= clock.now THEN 1
                WHEN line.breaker = 'half_open' AND line.probe_job IS NULL THEN 1
                ELSE 0
            END
        ) AS jobs
    FROM clock
    CROSS JOIN line
    CROSS JOIN holder
),

heads AS MATERIALIZED (
    SELECT lane.place, lane.id, lane.rank, lane.target, coalesce(offer.timeout_ms, line.timeout_ms) AS timeout_ms
    FROM line
    CROSS JOIN unnest(%(types)s::text [], %(timeouts_ms)s::bigint []) AS offer (type, timeout_ms)
    CROSS JOIN LATERAL (
        (
            SELECT job.ctid AS place, job.id, job.rank, NULL::uuid AS target
            FROM jobs_job_live AS job
            WHERE job.queue_id = line.id AND job.type = offer.type AND job.state = 'queued' AND NOT job.key_full
              AND job.target IS NULL
              AND (SELECT room.jobs FROM room) > 0 AND (SELECT holder.reservation_id IS NULL FROM holder)
            ORDER BY job.rank, job.id
            LIMIT %(reach)s
        )
        UNION ALL
        (
            SELECT aimed.place, aimed.id, aimed.rank, aim.target
            FROM aim
            CROSS JOIN LATERAL (
                SELECT job.ctid AS place, job.id, job.rank
                FROM jobs_job_live AS job
                WHERE job.queue_id = line.id AND job.type = offer.type AND job.state = 'queued' AND NOT job.key_full
                  AND job.target IS NOT NULL AND job.target = aim.target
                ORDER BY job.rank, job.id
                LIMIT %(reach)s
            ) AS aimed
            WHERE (SELECT room.jobs FROM room) > 0
        )
    ) AS lane
    WHERE NOT EXISTS (
        SELECT FROM queues_pausedtype AS halt
        WHERE halt.project_id = line.project_id AND halt.type = offer.type
          AND (halt.paused_until IS NULL OR halt.paused_until > clock_timestamp())
    )
    ORDER BY lane.rank, lane.id
    LIMIT %(reach)s
),

-- SKIP LOCKED alone would now and then wait: for the report of a job that another shard's claimer has taken since our
-- snapshot, while that report waits for our shard. So whoever has a job in hand says so first; one shard needs no word.
-- What is said is said of hardly more jobs than are wanted, or others would find none: after the sort, one row at a time;
-- and of one more, for the first may be one that somebody has just let go of.
in_hand AS MATERIALIZED (
    SELECT one.place, one.id, one.rank, one.target, one.timeout_ms
    FROM (
        SELECT
            heads.place, heads.id, heads.rank, heads.target, heads.timeout_ms,
            NOT (SELECT line.sharded FROM line)
            OR pg_try_advisory_xact_lock(hashtext('fencepost job'), hashtext(heads.id::text)) AS ours
        FROM heads
        ORDER BY heads.rank, heads.id
    ) AS one
    WHERE one.ours
    LIMIT (SELECT CASE WHEN line.sharded THEN greatest(room.jobs, 0) + 1 ELSE %(reach)s::bigint END FROM line CROSS JOIN room)
),

taken AS MATERIALIZED (
    SELECT job.ctid AS place, job.target, job.workflow_id, in_hand.timeout_ms
    FROM in_hand
    INNER JOIN jobs_job_live AS job ON in_hand.place = job.ctid
    WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT DISTINCT FROM in_hand.target
    ORDER BY in_hand.rank, in_hand.id
    LIMIT greatest((SELECT room.jobs FROM room), 0)
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

unbound AS MATERIALIZED (
    SELECT workflow.id
    FROM jobs_workflow AS workflow
    WHERE workflow.id IN (
        SELECT taken.workflow_id FROM taken WHERE taken.target = uuid '00000000-0000-0000-0000-000000000002'
    )
      AND workflow.assigned_worker IS NULL AND workflow.required_worker IS NULL
    ORDER BY workflow.id
    FOR NO KEY UPDATE SKIP LOCKED
),

bound AS (
    UPDATE jobs_workflow AS workflow
    SET assigned_worker = holder.worker_id
    FROM unbound
    CROSS JOIN holder
    WHERE workflow.id = unbound.id
    RETURNING workflow.id
),

granted AS MATERIALIZED (
    SELECT
        taken.place, taken.target IS NOT NULL AS aimed, holder.worker_id, reserved.generation, taken.timeout_ms,
        CASE WHEN taken.target < uuid '00000000-0000-0000-0000-000000000003' THEN holder.worker_id ELSE taken.target END AS target
    FROM taken
    CROSS JOIN holder
    LEFT JOIN reserved ON TRUE
    WHERE taken.target IS DISTINCT FROM uuid '00000000-0000-0000-0000-000000000002'
       OR taken.workflow_id IN (SELECT bound.id FROM bound)
),

claimed AS (
    UPDATE jobs_job_live AS job
    SET
        state = 'running',
        attempt = job.attempt + 1,
        fence = greatest(job.fence + 1, (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint),
        session_id = %(session_id)s::uuid,
        started_at = clock_timestamp(),
        deadline_at = clock_timestamp() + coalesce(job.timeout_ms, granted.timeout_ms) * interval '1 millisecond',
        shard = line.shard,
        assigned_worker = CASE WHEN granted.aimed THEN granted.worker_id ELSE job.assigned_worker END,
        target = granted.target,
        reservation_generation = granted.generation
    FROM granted
    CROSS JOIN line
    WHERE job.ctid = granted.place
    RETURNING
        job.id, job.queue_id, job.type, job.payload, job.attempt, job.max_attempts, job.fence, job.generation,
        job.deadline_at, job.workflow_id, job.request_id, job.losses, job.releases, job.concurrency_key, job.rank, line.project_id,
        line.breaker,
        CASE
            WHEN job.approval IS NOT NULL
                THEN jsonb_build_object('note', job.approval -> 'note', 'result', job.result)::text
        END AS approved
),

charged AS (
    UPDATE queues_gate AS gate
    SET
        in_flight = gate.in_flight + admitted.jobs,
        admitted = gate.admitted + admitted.jobs,
        tokens = CASE WHEN line.rate IS NULL THEN gate.tokens ELSE line.tokens - admitted.jobs END,
        refilled_at = CASE WHEN line.rate IS NULL THEN gate.refilled_at ELSE clock.now END,
        breaker = CASE WHEN gate.breaker = 'closed' THEN 'closed' ELSE 'half_open' END,
        probe_job = CASE WHEN gate.breaker <> 'closed' THEN admitted.id END,
        probe_fence = CASE WHEN gate.breaker <> 'closed' THEN admitted.fence END
    FROM clock
    CROSS JOIN line
    CROSS JOIN (
        SELECT count(*) AS jobs, (array_agg(claimed.id))[1] AS id, (array_agg(claimed.fence))[1] AS fence FROM claimed
    ) AS admitted
    WHERE gate.queue_id = line.id AND gate.shard = line.shard AND admitted.jobs > 0
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, attempts, data)
    SELECT
        claimed.project_id, claimed.queue_id, 'job.started', 'running', array_agg(claimed.id), array_agg(claimed.attempt),
        NULL
    FROM claimed
    GROUP BY claimed.project_id, claimed.queue_id
    UNION ALL
    SELECT
        claimed.project_id, claimed.queue_id, 'queue.breaker_half_open', NULL, ARRAY[]::uuid [], NULL,
        jsonb_build_object('by', 'system', 'job', claimed.id)
    FROM claimed
    WHERE claimed.breaker = 'open'
)

SELECT
    seen.candidates, 0::float8 AS walked, TRUE AS gated,
    claimed.rank, claimed.id, claimed.queue_id, claimed.type, claimed.payload::text, claimed.attempt,
    claimed.max_attempts, claimed.fence, claimed.generation, claimed.deadline_at,
    extract(EPOCH FROM claimed.deadline_at - clock_timestamp())::float8, claimed.workflow_id, claimed.request_id,
    claimed.losses, claimed.releases, claimed.concurrency_key,
    claimed.approved
FROM (SELECT count(*) AS candidates FROM heads) AS seen
LEFT JOIN claimed ON TRUE
CROSS JOIN (
    SELECT set_config('fencepost.bound', coalesce(string_agg(bound.id::text, ' '), ''), TRUE) AS workflows FROM bound
) AS said;
