-- Move what is queued of a workflow, as one group in its own order, among the others of each kind (queue, priority and
-- target worker): before all of them, behind all, before the next one ahead of its first, behind the next after its last.
-- Ranks are found as move.sql finds them; a row that changed since it was read here is left alone.
-- Whoever calls holds the lines' turns (move_lines.sql).
WITH mine AS MATERIALIZED (
    SELECT
        job.id, job.queue_id, job.priority, job.target, job.rank,
        row_number() OVER kind AS turn,
        count(*) OVER (PARTITION BY job.queue_id, job.priority, job.target) AS size
    FROM jobs_job_live AS job
    WHERE job.workflow_id = %(workflow_id)s::uuid AND job.state = 'queued'
    WINDOW kind AS (PARTITION BY job.queue_id, job.priority, job.target ORDER BY job.rank, job.id)
),

kinds AS MATERIALIZED (
    SELECT
        row_number() OVER () AS kind, first.queue_id, first.priority, first.target, first.size,
        first.rank AS first_rank, first.id AS first_id, last.rank AS last_rank, last.id AS last_id
    FROM mine AS first
    INNER JOIN mine AS last
        ON first.queue_id = last.queue_id AND first.priority = last.priority
        AND first.target IS NOT DISTINCT FROM last.target
        AND last.turn = last.size
    WHERE first.turn = 1
),

others AS MATERIALIZED (
    SELECT
        kinds.kind, peer.id, peer.rank, row_number() OVER (PARTITION BY kinds.kind ORDER BY peer.rank, peer.id) AS place
    FROM kinds
    CROSS JOIN LATERAL (
        SELECT job.id, job.rank, job.priority, job.workflow_id
        FROM jobs_job_live AS job
        WHERE job.queue_id = kinds.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
          AND kinds.target IS NULL
        UNION ALL
        SELECT job.id, job.rank, job.priority, job.workflow_id
        FROM jobs_job_live AS job
        WHERE job.queue_id = kinds.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
          AND job.target = kinds.target
    ) AS peer
    WHERE peer.priority = kinds.priority AND peer.workflow_id IS DISTINCT FROM %(workflow_id)s::uuid
),

stand AS MATERIALIZED (
    SELECT
        kinds.kind,
        count(others.id) AS peers,
        count(others.id) FILTER (WHERE (others.rank, others.id) < (kinds.first_rank, kinds.first_id)) AS ahead,
        count(others.id) FILTER (WHERE (others.rank, others.id) < (kinds.last_rank, kinds.last_id)) AS ahead_of_last
    FROM kinds
    LEFT JOIN others ON kinds.kind = others.kind
    GROUP BY kinds.kind
),

-- How many others are to be ahead of the group.
slots AS MATERIALIZED (
    SELECT
        stand.*,
        CASE %(to)s::text
            WHEN 'top' THEN 0
            WHEN 'up' THEN greatest(stand.ahead - 1, 0)
            WHEN 'down' THEN least(stand.ahead_of_last + 1, stand.peers)
            WHEN 'bottom' THEN stand.peers
        END AS goal
    FROM stand
),

goals AS MATERIALIZED (
    SELECT
        slots.kind, slots.goal,
        CASE
            WHEN behind.rank IS NULL THEN before.rank + 1000 * (kinds.size + 1)
            ELSE behind.rank
        END AS ends_before,
        CASE
            WHEN before.rank IS NULL OR behind.rank IS NULL THEN 1000
            ELSE least(greatest((behind.rank - before.rank) / (kinds.size + 1), 1), 1000000)
        END AS gap,
        kinds.size
    FROM slots
    INNER JOIN kinds ON slots.kind = kinds.kind
    LEFT JOIN others AS before ON slots.kind = before.kind AND before.place = slots.goal
    LEFT JOIN others AS behind ON slots.kind = behind.kind AND behind.place = slots.goal + 1
    WHERE slots.peers > 0 AND NOT (slots.goal = slots.ahead AND slots.goal = slots.ahead_of_last)
),

-- the last of those ahead that stands far enough off: nobody before it need move
firm AS MATERIALIZED (
    SELECT goals.kind, coalesce(max(others.place), 0) AS place
    FROM goals
    LEFT JOIN others
        ON goals.kind = others.kind AND others.place <= goals.goal
        AND others.rank < goals.ends_before - goals.gap * goals.size - (goals.goal - others.place)
    GROUP BY goals.kind
),

plan AS MATERIALIZED (
    SELECT mine.id, mine.rank AS old_rank, goals.ends_before - goals.gap * (mine.size - mine.turn + 1) AS rank
    FROM goals
    INNER JOIN kinds ON goals.kind = kinds.kind
    INNER JOIN mine
        ON kinds.queue_id = mine.queue_id AND kinds.priority = mine.priority
        AND kinds.target IS NOT DISTINCT FROM mine.target
    UNION ALL
    SELECT
        others.id, others.rank,
        goals.ends_before - goals.gap * goals.size - (goals.goal - others.place + 1)
    FROM goals
    INNER JOIN firm ON goals.kind = firm.kind
    INNER JOIN others ON goals.kind = others.kind AND others.place > firm.place AND others.place <= goals.goal
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
    RETURNING job.id, job.queue_id, job.workflow_id
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, moved.queue_id, 'job.moved', 'queued', array_agg(moved.id)
    FROM moved
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
    WHERE moved.workflow_id = %(workflow_id)s::uuid
    GROUP BY queue.project_id, moved.queue_id
)

SELECT mine.id, mine.queue_id, 'queued', 'queued' FROM mine;
