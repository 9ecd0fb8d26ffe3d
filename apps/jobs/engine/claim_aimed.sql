-- Hand queued jobs to one session as claim.sql does, of those that wait for its worker too: rank orders both. It is sent
-- as long as any may (ready_aimed.sql). A worker that is reserved gets nothing but what it is reserved for.
-- Who takes the first job of a workflow binds it: whoever finds the workflow's row locked, or bound by now, leaves the
-- job. The others of the workflow follow in the next statement of the transaction (claim_aimed_bind.sql).
WITH holder AS MATERIALIZED (
    SELECT
        session.id,
        session.worker_id,
        session.reservation_id,
        session.concurrency - coalesce(
            %(held)s::bigint,
            (
                SELECT count(*) FROM jobs_job_live AS mine
                WHERE mine.session_id = %(session_id)s::uuid AND mine.state = 'running'
            )
        ) AS room,
        set_config('synchronous_commit', 'off', TRUE) AS quick
    FROM workers_session AS session
    WHERE session.id = %(session_id)s::uuid
      AND session.ended_at IS NULL
      AND session.fenced_at IS NULL
      AND NOT session.draining
      AND session.lease_expires_at > clock_timestamp()
),

-- Held for as long as the claim takes: nobody ends or moves it meanwhile.
reserved AS MATERIALIZED (
    SELECT reservation.id, reservation.generation
    FROM holder
    INNER JOIN workers_reservation AS reservation
        ON holder.reservation_id = reservation.id AND holder.worker_id = reservation.worker_id
    WHERE reservation.state = 'bound'
    FOR SHARE OF reservation
),

-- What it may take: what waits for this worker, or for the first that comes (…1: for a job alone, …2: for a workflow).
aim AS MATERIALIZED (
    SELECT own.target
    FROM holder
    CROSS JOIN LATERAL unnest(ARRAY[
        holder.worker_id, uuid '00000000-0000-0000-0000-000000000001', uuid '00000000-0000-0000-0000-000000000002'
    ]) AS own (target)
    WHERE holder.reservation_id IS NULL
    UNION ALL
    SELECT reserved.id FROM reserved
),

line AS MATERIALIZED (
    SELECT queue.id, queue.project_id, queue.timeout_ms, queue.weight, asked.floor, asked.ahead
    FROM unnest(%(queues)s::uuid [], %(floors)s::bigint [], %(ahead)s::float8 []) AS asked (id, floor, ahead)
    INNER JOIN queues_queue AS queue ON asked.id = queue.id
    WHERE (queue.paused_at IS NULL OR queue.paused_until <= clock_timestamp())
      -- Those have a statement of their own (claim_gated.sql).
      AND NOT EXISTS (SELECT FROM queues_gate AS gate WHERE gate.queue_id = queue.id)
),

-- Types that a project has paused.
halted AS MATERIALIZED (
    SELECT halt.project_id, halt.type FROM queues_pausedtype AS halt
    WHERE halt.type = ANY(%(types)s::text []) AND (halt.paused_until IS NULL OR halt.paused_until > clock_timestamp())
),

offer AS MATERIALIZED (
    SELECT * FROM unnest(%(types)s::text [], %(timeouts_ms)s::bigint []) AS o (type, timeout_ms)
),

heads AS MATERIALIZED (
    SELECT
        head.place, head.id, head.rank, head.target, line.ahead + (head.turn - 1) / line.weight::float8 AS turn, line.project_id,
        coalesce(head.timeout_ms, line.timeout_ms) AS timeout_ms
    FROM line
    CROSS JOIN LATERAL (
        SELECT lane.place, lane.id, lane.rank, lane.target, offer.timeout_ms, row_number() OVER (ORDER BY lane.rank, lane.id) AS turn
        FROM offer
        CROSS JOIN LATERAL (
            (
                SELECT job.ctid AS place, job.id, job.rank, NULL::uuid AS target
                FROM jobs_job_live AS job
                WHERE job.queue_id = line.id AND job.type = offer.type AND job.state = 'queued' AND NOT job.key_full
                  AND job.target IS NULL AND job.rank >= line.floor
                  AND (SELECT holder.reservation_id IS NULL FROM holder)
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
            )
        ) AS lane
        WHERE (line.project_id, offer.type) NOT IN (SELECT halted.project_id, halted.type FROM halted)
        ORDER BY lane.rank, lane.id
        LIMIT %(reach)s
    ) AS head
    ORDER BY turn, head.rank, head.id
    LIMIT %(reach)s
),

taken AS MATERIALIZED (
    SELECT job.ctid AS place, job.target, job.workflow_id, heads.project_id, heads.timeout_ms
    FROM heads
    INNER JOIN jobs_job_live AS job ON heads.place = job.ctid
    WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT DISTINCT FROM heads.target
    ORDER BY heads.turn, heads.rank, heads.id
    LIMIT coalesce((SELECT least(greatest(holder.room, 0), %(limit)s::int) FROM holder), 0)
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
        taken.place, taken.target IS NOT NULL AS aimed, holder.worker_id, reserved.generation, taken.project_id, taken.timeout_ms,
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
        assigned_worker = CASE WHEN granted.aimed THEN granted.worker_id ELSE job.assigned_worker END,
        target = granted.target,
        reservation_generation = granted.generation
    FROM granted
    WHERE job.ctid = granted.place
    RETURNING
        job.id, job.queue_id, job.type, job.payload, job.attempt, job.max_attempts, job.fence, job.generation,
        job.deadline_at, job.workflow_id, job.request_id, job.losses, job.releases, job.concurrency_key, job.rank, job.started_at,
        granted.project_id,
        CASE
            WHEN job.approval IS NOT NULL
                THEN jsonb_build_object('note', job.approval -> 'note', 'result', job.result)::text
        END AS approved
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, attempts)
    SELECT claimed.project_id, claimed.queue_id, 'job.started', 'running', array_agg(claimed.id), array_agg(claimed.attempt)
    FROM claimed
    GROUP BY claimed.project_id, claimed.queue_id
)

SELECT
    seen.candidates,
    extract(EPOCH FROM coalesce(claimed.started_at, clock_timestamp()) - statement_timestamp())::float8 AS walked,
    EXISTS (SELECT FROM queues_gate AS gate WHERE gate.queue_id = ANY(%(queues)s::uuid [])) AS gated,
    claimed.rank, claimed.id, claimed.queue_id, claimed.type, claimed.payload::text, claimed.attempt,
    claimed.max_attempts, claimed.fence, claimed.generation, claimed.deadline_at,
    extract(EPOCH FROM claimed.deadline_at - clock_timestamp())::float8, claimed.workflow_id, claimed.request_id,
    claimed.losses, claimed.releases, claimed.concurrency_key,
    claimed.approved
-- Whoever has no room is not told of candidates: it would try again at once, and again.
FROM (SELECT count(*) AS candidates FROM heads WHERE (SELECT holder.room FROM holder) > 0) AS seen
LEFT JOIN claimed ON TRUE
CROSS JOIN (
    SELECT set_config('fencepost.bound', coalesce(string_agg(bound.id::text, ' '), ''), TRUE) AS workflows FROM bound
) AS said;
