-- Give a queued job the place before or behind others of its kind (same queue, priority and target worker): a rank
-- between its new neighbours, near the one behind it, so that it passes no job of another kind that it need not.
-- Where no whole number is free between them, those ahead make room: each by as little as will do.
-- Whoever calls holds the line's turn (move_turn.sql); a row that changed since it was read here is left alone.
WITH mover AS MATERIALIZED (
    SELECT job.id, job.queue_id, job.priority, job.target, job.rank
    FROM jobs_job_live AS job
    WHERE job.id = %(job_id)s::uuid AND job.state = 'queued'
),

others AS MATERIALIZED (
    SELECT peer.id, peer.rank, row_number() OVER (ORDER BY peer.rank, peer.id) AS place
    FROM mover
    CROSS JOIN LATERAL (
        SELECT open.id, open.rank, open.priority
        FROM jobs_job_live AS open
        WHERE open.queue_id = %(queue_id)s::uuid AND open.state = 'queued' AND NOT open.key_full AND open.target IS NULL
          AND mover.target IS NULL
        UNION ALL
        SELECT aimed.id, aimed.rank, aimed.priority
        FROM jobs_job_live AS aimed
        WHERE aimed.queue_id = %(queue_id)s::uuid AND aimed.state = 'queued' AND NOT aimed.key_full
          AND aimed.target IS NOT NULL AND aimed.target = mover.target
    ) AS peer
    WHERE peer.priority = mover.priority AND peer.id <> mover.id
),

stand AS MATERIALIZED (
    SELECT
        count(others.id) AS peers,
        count(others.id) FILTER (WHERE (others.rank, others.id) < (mover.rank, mover.id)) AS ahead
    FROM mover
    LEFT JOIN others ON TRUE
    GROUP BY mover.id
),

slot AS MATERIALIZED (
    SELECT
        stand.ahead,
        CASE %(to)s::text
            WHEN 'top' THEN 0
            WHEN 'up' THEN greatest(stand.ahead - 1, 0)
            WHEN 'down' THEN least(stand.ahead + 1, stand.peers)
            WHEN 'bottom' THEN stand.peers
        END AS goal
    FROM stand
),

goal AS MATERIALIZED (
    SELECT
        mover.id, mover.rank AS old_rank, slot.ahead, slot.goal,
        CASE
            WHEN slot.goal = slot.ahead THEN mover.rank
            WHEN before.rank IS NULL THEN behind.rank - 1000
            WHEN behind.rank IS NULL THEN before.rank + 1000
            ELSE behind.rank - least(greatest((behind.rank - before.rank) / 2, 1), 1000000)
        END AS rank
    FROM mover
    CROSS JOIN slot
    LEFT JOIN others AS before ON before.place = slot.goal
    LEFT JOIN others AS behind ON behind.place = slot.goal + 1
),

-- the last of those ahead that stands far enough off: nobody before it need move
firm AS MATERIALIZED (
    SELECT coalesce(max(others.place), 0) AS place
    FROM goal
    INNER JOIN others ON others.place <= goal.goal AND others.rank < goal.rank - (goal.goal - others.place)
),

plan AS MATERIALIZED (
    SELECT goal.id, goal.old_rank, goal.rank FROM goal WHERE goal.goal <> goal.ahead
    UNION ALL
    SELECT others.id, others.rank, goal.rank - (goal.goal - others.place + 1)
    FROM goal
    CROSS JOIN firm
    INNER JOIN others ON others.place > firm.place AND others.place <= goal.goal
    WHERE goal.goal <> goal.ahead
),

held AS MATERIALIZED (
    SELECT job.id, plan.rank
    FROM plan
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[plan.id])
    WHERE job.state = 'queued' AND job.rank = plan.old_rank
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
),

moved AS (
    UPDATE jobs_job_live AS job
    SET rank = held.rank
    FROM held
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id, job.queue_id
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, moved.queue_id, 'job.moved', 'queued', ARRAY[moved.id],
        jsonb_build_object('place', goal.goal + 1)
    FROM moved
    INNER JOIN goal ON moved.id = goal.id
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
)

SELECT goal.ahead + 1, goal.goal + 1, (SELECT count(*) FROM moved)
FROM goal
WHERE goal.goal = goal.ahead OR goal.id IN (SELECT moved.id FROM moved);
