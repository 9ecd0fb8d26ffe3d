-- Hand jobs of one queue with limits to a session before its gate is held: where the gate has far more places than those
-- who claim now can take (gates.sql, `roomy`), nobody needs to know first how many it admits. The next statement of the
-- transaction charges what was taken (claim_roomy_charge.sql), and fails it all should there be no place. So the gate is
-- held for a moment and not for as long as it takes to find jobs. Where one type alone waits, claim_lane.sql does the same.
-- Rates, probes and what waits for one worker are claim_gated.sql's: where this way is shut, `candidates` is 0.
WITH holder AS MATERIALIZED (
    SELECT
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

line AS MATERIALIZED (
    SELECT
        queue.id, queue.project_id, queue.timeout_ms, door.shard, door.before,
        least(%(limit)s::bigint, holder.room, door.places) AS jobs
    FROM holder
    CROSS JOIN queues_queue AS queue
    CROSS JOIN LATERAL (
        SELECT gate.shard, gate.cap - gate.in_flight AS places, gate.admitted - gate.in_flight AS before
        FROM queues_gate AS gate
        WHERE gate.queue_id = queue.id AND gate.opens_after IS NULL AND gate.in_flight < gate.cap
          -- the breaker is that of shard 0
          AND NOT EXISTS (SELECT FROM queues_gate AS shut WHERE shut.queue_id = queue.id AND shut.breaker <> 'closed')
        ORDER BY gate.cap - gate.in_flight < 100, random()
        LIMIT 1
    ) AS door
    WHERE queue.id = %(queue_id)s::uuid
      AND holder.reservation_id IS NULL
      AND (queue.paused_at IS NULL OR queue.paused_until <= clock_timestamp())
      AND queue.rate_per_second IS NULL
),

heads AS MATERIALIZED (
    SELECT lane.place, lane.id, lane.rank, coalesce(offer.timeout_ms, line.timeout_ms) AS timeout_ms
    FROM line
    CROSS JOIN unnest(%(types)s::text [], %(timeouts_ms)s::bigint []) AS offer (type, timeout_ms)
    CROSS JOIN LATERAL (
        SELECT job.ctid AS place, job.id, job.rank
        FROM jobs_job_live AS job
        WHERE job.queue_id = line.id AND job.type = offer.type AND job.state = 'queued' AND NOT job.key_full
          AND job.target IS NULL AND line.jobs > 0
        ORDER BY job.rank, job.id
        LIMIT %(reach)s
    ) AS lane
    WHERE NOT EXISTS (
        SELECT FROM queues_pausedtype AS halt
        WHERE halt.project_id = line.project_id AND halt.type = offer.type
          AND (halt.paused_until IS NULL OR halt.paused_until > clock_timestamp())
    )
    ORDER BY lane.rank, lane.id
    LIMIT %(reach)s
),

taken AS MATERIALIZED (
    SELECT job.ctid AS place, heads.timeout_ms
    FROM heads
    INNER JOIN jobs_job_live AS job ON heads.place = job.ctid
    WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
    ORDER BY heads.rank, heads.id
    LIMIT greatest((SELECT line.jobs FROM line), 0)
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
        shard = line.shard,
        reservation_generation = NULL
    FROM taken
    CROSS JOIN line
    WHERE job.ctid = taken.place
    RETURNING
        job.id, job.queue_id, job.type, job.payload, job.attempt, job.max_attempts, job.fence, job.generation,
        job.deadline_at, job.workflow_id, job.request_id, job.losses, job.releases, job.concurrency_key, job.rank, line.project_id,
        CASE
            WHEN job.approval IS NOT NULL
                THEN jsonb_build_object('note', job.approval -> 'note', 'result', job.result)::text
        END AS approved
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, attempts, data)
    SELECT
        claimed.project_id, claimed.queue_id, 'job.started', 'running', array_agg(claimed.id), array_agg(claimed.attempt),
        NULL
    FROM claimed
    GROUP BY claimed.project_id, claimed.queue_id
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
    SELECT
        set_config('fencepost.shard', (SELECT line.shard FROM line)::text, TRUE) AS shard,
        set_config('fencepost.before', (SELECT line.before FROM line)::text, TRUE) AS before,
        set_config('fencepost.jobs', count(*)::text, TRUE) AS jobs
    FROM claimed
) AS said;
