-- Hand queued jobs to one session, most urgent first and queue by queue in turn, each under a new fence.
-- Nobody waits: a row that someone else is taking is skipped. The commit is asynchronous: a claim that a
-- crash forgets has only re-queued its jobs, and the fence grows by the clock all the same.
-- `floors` and `held` are hints of a session that has just claimed (claim.py, Walk): where each queue's line began
-- then, and how many jobs it holds. They spare the walk over rows that have ended and cannot be removed yet.
-- `ahead` says how much more than the others each queue has had of late, in turns; a turn is as many jobs as its weight.
WITH holder AS MATERIALIZED (
    SELECT
        session.id,
        -- a worker that is reserved takes nothing from the open line (claim_aimed.sql)
        CASE
            WHEN session.reservation_id IS NULL THEN session.concurrency - coalesce(
                %(held)s::bigint,
                (
                    SELECT count(*) FROM jobs_job_live AS mine
                    WHERE mine.session_id = %(session_id)s::uuid AND mine.state = 'running'
                )
            )
        END AS room,
        set_config('synchronous_commit', 'off', TRUE) AS quick
    FROM workers_session AS session
    WHERE session.id = %(session_id)s::uuid
      AND session.ended_at IS NULL
      AND session.fenced_at IS NULL
      AND NOT session.draining
      AND session.lease_expires_at > clock_timestamp()
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
        head.place, head.id, head.rank, line.ahead + (head.turn - 1) / line.weight::float8 AS turn, line.project_id,
        coalesce(head.timeout_ms, line.timeout_ms) AS timeout_ms
    FROM line
    CROSS JOIN LATERAL (
        SELECT lane.place, lane.id, lane.rank, offer.timeout_ms, row_number() OVER (ORDER BY lane.rank, lane.id) AS turn
        FROM offer
        CROSS JOIN LATERAL (
            SELECT job.ctid AS place, job.id, job.rank
            FROM jobs_job_live AS job
            WHERE job.queue_id = line.id AND job.type = offer.type AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
              AND job.rank >= line.floor
            ORDER BY job.rank, job.id
            LIMIT %(reach)s
        ) AS lane
        WHERE (line.project_id, offer.type) NOT IN (SELECT halted.project_id, halted.type FROM halted)
        ORDER BY lane.rank, lane.id
        LIMIT %(reach)s
    ) AS head
    ORDER BY turn, head.rank, head.id
    LIMIT %(reach)s
),

taken AS MATERIALIZED (
    SELECT job.ctid AS place, heads.project_id, heads.timeout_ms
    FROM heads
    INNER JOIN jobs_job_live AS job ON heads.place = job.ctid
    WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
    ORDER BY heads.turn, heads.rank, heads.id
    LIMIT coalesce((SELECT least(greatest(holder.room, 0), %(limit)s::int) FROM holder), 0)
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

claimed AS (
    UPDATE jobs_job_live AS job
    SET
        state = 'running',
        attempt = job.attempt + 1,
        fence = greatest(job.fence + 1, (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint),
        session_id = %(session_id)s::uuid,
        started_at = clock_timestamp(),
        deadline_at = clock_timestamp() + coalesce(job.timeout_ms, taken.timeout_ms) * interval '1 millisecond',
        -- left by a reservation that has ended since: nothing of this attempt would count
        reservation_generation = NULL
    FROM taken
    WHERE job.ctid = taken.place
    RETURNING
        job.id, job.queue_id, job.type, job.payload, job.attempt, job.max_attempts, job.fence, job.generation,
        job.deadline_at, job.workflow_id, job.request_id, job.losses, job.releases, job.concurrency_key, job.rank, job.started_at,
        taken.project_id,
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
LEFT JOIN claimed ON TRUE;
