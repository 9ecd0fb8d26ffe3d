-- All that decides when one live job is handed out, in one look and without locks: its queue, its parents, who holds it
-- back, the workers that know it, the limits it stands before, and its place in line. Nothing is counted further than
-- `far`, no list is longer than `few`, and what does not matter in the state the job is in is not looked for.
WITH RECURSIVE mine AS MATERIALIZED (
    SELECT
        job.id, job.queue_id, job.type, job.state, job.resume_state, job.run_at, job.rank, job.attempt, job.max_attempts,
        job.pending, job.requires_approval AND job.approval IS NULL AS requires_approval, job.target, job.concurrency_key, job.key_full,
        job.workflow_id, job.created_at, (job.approval ->> 'asked_at')::timestamptz AS asked_at, queue.paused_at, queue.paused_until, queue.paused_by, queue.pause_reason, queue.max_concurrency, queue.max_per_key,
        queue.rate_per_second AS rate, queue.project_id, project.organization_id, clock_timestamp() AS now,
        coalesce(queue.burst, greatest(ceil(queue.rate_per_second), 1)) AS burst
    FROM jobs_job_live AS job
    INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
    INNER JOIN accounts_project AS project ON queue.project_id = project.id
    WHERE job.id = %(job_id)s::uuid
),

-- The worker it waits for, and by whose reservation.
aim AS MATERIALIZED (
    SELECT
        worker.id AS worker_id, worker.uid, worker.drained_at, reservation.id AS reservation_id, reservation.state AS reserved,
        reservation.last_error
    FROM mine
    LEFT JOIN workers_reservation AS reservation ON mine.target = reservation.id
    LEFT JOIN workers_worker AS worker ON worker.id = coalesce(reservation.worker_id, mine.target)
),

parents AS (
    SELECT
        array_agg(edge.parent_id ORDER BY edge.parent_id) AS ids,
        array_agg(coalesce(parent.type, '') ORDER BY edge.parent_id) AS types,
        array_agg(coalesce(parent.state, '') ORDER BY edge.parent_id) AS states,
        (
            SELECT max(settled.settled_at)
            FROM mine
            INNER JOIN jobs_dependency AS settled ON mine.id = settled.child_id
            WHERE 'awaiting_approval' IN (mine.state, mine.resume_state)
        ) AS ended_at
    FROM (
        SELECT dependency.parent_id
        FROM mine
        INNER JOIN jobs_dependency AS dependency ON mine.id = dependency.child_id
        WHERE mine.pending > 0 AND dependency.settled_at IS NULL
        ORDER BY dependency.parent_id
        LIMIT %(few)s::int
    ) AS edge
    LEFT JOIN jobs_job_live AS parent ON edge.parent_id = parent.id
),

hold AS (
    SELECT entry.actor, entry.at, entry.after ->> 'reason' AS said
    FROM mine
    INNER JOIN audit_entry AS entry
        ON entry.target_id = ANY(ARRAY[mine.id::text, mine.workflow_id::text])
        AND entry.action IN ('job.pause', 'workflow.pause')
    WHERE mine.state = 'paused'
    ORDER BY entry.id DESC
    LIMIT 1
),

halt AS (
    SELECT kind.paused_at, kind.paused_until, kind.paused_by, kind.pause_reason
    FROM mine
    INNER JOIN queues_pausedtype AS kind ON mine.project_id = kind.project_id AND mine.type = kind.type
    WHERE kind.paused_until IS NULL OR kind.paused_until > mine.now
),

gate AS (
    SELECT
        sum(one.cap) AS cap, sum(one.in_flight) AS in_flight, bool_or(one.opens_after IS NOT NULL) AS counting,
        max(one.breaker) FILTER (WHERE one.shard = 0) AS breaker,
        max(one.reopens_at) FILTER (WHERE one.shard = 0) AS reopens_at,
        max(one.trips) FILTER (WHERE one.shard = 0) AS trips,
        (array_agg(one.probe_job) FILTER (WHERE one.shard = 0))[1] AS probe_job,
        max(
            least(mine.burst, one.tokens + mine.rate * extract(EPOCH FROM mine.now - coalesce(one.refilled_at, mine.now))::float8)
        ) AS tokens
    FROM mine
    INNER JOIN queues_gate AS one ON mine.queue_id = one.queue_id
),

-- Of what the workers run, that which belongs to this queue.
running AS MATERIALIZED (
    SELECT job.id, job.started_at
    FROM mine
    INNER JOIN jobs_job_live AS job ON job.state = 'running' AND mine.queue_id = job.queue_id
    WHERE mine.state = 'queued'
),

holders AS (
    SELECT array_agg(held.id ORDER BY held.started_at) AS ids
    FROM (SELECT running.id, running.started_at FROM running ORDER BY running.started_at LIMIT %(few)s::int) AS held
),

-- What of its key runs, or may be claimed: it holds the places.
sharing AS MATERIALIZED (
    SELECT job.id, job.started_at
    FROM mine
    INNER JOIN jobs_job_live AS job
        ON mine.queue_id = job.queue_id AND mine.concurrency_key = job.concurrency_key
        AND NOT job.key_full AND job.state IN ('queued', 'running')
    WHERE mine.key_full
    LIMIT %(far)s::int
),

sharers AS (
    SELECT array_agg(held.id ORDER BY held.started_at) AS ids, (SELECT count(*) FROM sharing) AS jobs
    FROM (
        SELECT sharing.id, sharing.started_at FROM sharing ORDER BY sharing.started_at LIMIT %(few)s::int
    ) AS held
),

crew AS MATERIALIZED (
    SELECT
        session.id, session.concurrency, mine.type = ANY(session.types) AS announces,
        session.draining OR worker.drained_at IS NOT NULL AS drains,
        session.reservation_id IS DISTINCT FROM aim.reservation_id AS is_away  -- reserved for somebody else
    FROM mine
    CROSS JOIN aim
    INNER JOIN workers_session AS session
        ON session.ended_at IS NULL AND session.fenced_at IS NULL AND session.lease_expires_at > mine.now
    INNER JOIN workers_worker AS worker ON session.worker_id = worker.id
        AND (aim.worker_id IS NULL OR worker.id = aim.worker_id)
    WHERE (cardinality(session.queues) = 0 OR mine.queue_id = ANY(session.queues))
      AND (worker.organization_id IS NULL OR worker.organization_id = mine.organization_id)
),

fleet AS MATERIALIZED (
    SELECT
        count(*) FILTER (WHERE NOT crew.drains AND NOT crew.is_away) AS serving,
        count(*) FILTER (WHERE crew.announces AND NOT crew.drains AND NOT crew.is_away) AS announcing,
        count(*) FILTER (WHERE crew.announces AND crew.drains AND NOT crew.is_away) AS draining,
        count(*) FILTER (WHERE crew.announces AND crew.is_away) AS away,
        coalesce(sum(crew.concurrency) FILTER (WHERE crew.announces AND NOT crew.drains AND NOT crew.is_away), 0) AS slots
    FROM crew
),

walk AS (
    SELECT 1 AS step, mine.queue_id, mine.rank, mine.id, (
        SELECT job.type FROM jobs_job_live AS job
        WHERE job.queue_id = mine.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
        ORDER BY job.type LIMIT 1
    ) AS type
    FROM mine
    CROSS JOIN aim
    WHERE mine.state = 'queued' AND aim.reservation_id IS NULL
    UNION ALL
    SELECT walk.step + 1, walk.queue_id, walk.rank, walk.id, (
        SELECT job.type FROM jobs_job_live AS job
        WHERE job.queue_id = walk.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL AND job.type > walk.type
        ORDER BY job.type LIMIT 1
    )
    FROM walk
    WHERE walk.type IS NOT NULL AND walk.step < %(steps)s::int
),

-- Of those that wait for the same worker; what is reserved for one has no others ahead.
beside AS (
    SELECT count(*) AS jobs
    FROM (
        SELECT
        FROM mine
        INNER JOIN jobs_job_live AS job ON mine.queue_id = job.queue_id AND mine.target = job.target
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
          AND (job.rank, job.id) < (mine.rank, mine.id) AND mine.state = 'queued'
        LIMIT %(far)s::bigint
    ) AS before
),

ahead AS (
    SELECT least(coalesce(sum(lane.jobs), 0)::bigint + (SELECT beside.jobs FROM beside), %(far)s::bigint) AS jobs
    FROM walk
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs
        FROM (
            SELECT FROM jobs_job_live AS job
            WHERE job.queue_id = walk.queue_id AND job.type = walk.type AND job.state = 'queued' AND NOT job.key_full
              AND job.target IS NULL
              AND (job.rank, job.id) < (walk.rank, walk.id)
            LIMIT %(far)s::bigint
        ) AS before
    ) AS lane
    WHERE walk.type IS NOT NULL
),

-- Jobs a second: of the last ten minutes where that is known, else as what runs now was started.
pace AS (
    SELECT coalesce(
        (
            SELECT nullif(sum(stat.completed + stat.failed), 0) / 600.0
            FROM queues_minutestat AS stat
            WHERE stat.queue_id = mine.queue_id AND stat.minute > mine.now - interval '10 minutes'
        ),
        (SELECT count(*) / nullif(extract(EPOCH FROM mine.now - min(running.started_at)), 0) FROM running)
    )::float8 AS per_second
    FROM mine
)

SELECT
    mine.now, mine.state, mine.resume_state, mine.type, mine.run_at, mine.attempt, mine.max_attempts,
    mine.pending, parents.ids, parents.types, parents.states, mine.requires_approval,
    coalesce(mine.asked_at, parents.ended_at, mine.created_at), mine.asked_at IS NOT NULL,
    hold.actor, hold.at, hold.said,
    mine.paused_at, mine.paused_until, mine.paused_by, mine.pause_reason,
    halt.paused_at, halt.paused_until, halt.paused_by, halt.pause_reason,
    fleet.serving, fleet.announcing, fleet.draining, fleet.away,
    CASE
        WHEN fleet.announcing = 0 THEN (
            SELECT max(least(session.ended_at, session.fenced_at, session.lease_expires_at))
            FROM workers_session AS session
            WHERE mine.type = ANY(session.types)
        )
    END AS known_until,
    mine.max_concurrency, gate.cap, gate.in_flight, gate.counting, holders.ids,
    mine.concurrency_key, mine.key_full, mine.max_per_key, sharers.jobs, sharers.ids,
    mine.rate, gate.tokens, gate.breaker, gate.reopens_at, gate.trips, gate.probe_job,
    aim.uid, target.live_at, aim.drained_at IS NOT NULL OR target.drains, target.reserved, target.is_able,
    aim.reserved, aim.last_error,
    fleet.slots, (
        SELECT count(*) FROM crew
        INNER JOIN jobs_job_live AS job ON crew.id = job.session_id
        WHERE job.state = 'running' AND crew.announces AND NOT crew.drains AND NOT crew.is_away AND mine.state = 'queued'
    ) AS held,
    ahead.jobs, pace.per_second
FROM mine
CROSS JOIN parents
CROSS JOIN gate
CROSS JOIN holders
CROSS JOIN sharers
CROSS JOIN fleet
CROSS JOIN ahead
CROSS JOIN pace
LEFT JOIN hold ON TRUE
LEFT JOIN halt ON TRUE
CROSS JOIN aim
LEFT JOIN LATERAL (
    SELECT
        max(session.until) AS live_at,
        bool_or(session.draining) FILTER (WHERE session.until > mine.now) AS drains,
        bool_or(session.reservation_id IS DISTINCT FROM aim.reservation_id) FILTER (WHERE session.until > mine.now) AS reserved,
        bool_or(
            mine.type = ANY(session.types) AND (cardinality(session.queues) = 0 OR mine.queue_id = ANY(session.queues))
        ) FILTER (WHERE session.until > mine.now) AS is_able
    FROM (
        SELECT
            least(boot.ended_at, boot.fenced_at, boot.lease_expires_at) AS until, boot.draining, boot.reservation_id,
            boot.types, boot.queues
        FROM workers_session AS boot
        WHERE boot.worker_id = aim.worker_id
    ) AS session
) AS target ON TRUE;
