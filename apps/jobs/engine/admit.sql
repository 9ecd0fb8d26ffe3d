-- Let jobs of concurrency keys through, most urgent first: so many of each key that no more than its queue's max_per_key
-- run or may be claimed. One that may be claimed gives way to a more urgent one, as long as nobody has claimed it.
-- Whoever calls holds the keys' turns (admit_turn.sql): nobody else lets any through meanwhile, and all else that may
-- happen to these jobs sets places free. What others hold is left alone; the loop `keys` finds it.
WITH asked AS MATERIALIZED (
    SELECT pair.queue_id, pair.key, queue.max_per_key AS most, set_config('synchronous_commit', 'off', TRUE) AS quick
    FROM unnest(%(queue_ids)s::uuid [], %(keys)s::text []) AS pair (queue_id, key)
    INNER JOIN queues_queue AS queue ON pair.queue_id = queue.id
),

holding AS MATERIALIZED (
    SELECT asked.queue_id, asked.key, place.id, place.rank, place.state
    FROM asked
    CROSS JOIN LATERAL (
        SELECT job.id, job.rank, job.state
        FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.concurrency_key = asked.key
          AND NOT job.key_full AND job.state IN ('queued', 'running')
    ) AS place
    WHERE asked.most IS NOT NULL
),

waiting AS MATERIALIZED (
    SELECT
        asked.queue_id, asked.key, line.id, line.rank,
        row_number() OVER (PARTITION BY asked.queue_id, asked.key ORDER BY line.rank, line.id) AS place
    FROM asked
    CROSS JOIN LATERAL (
        SELECT job.id, job.rank
        FROM jobs_job_live AS job
        WHERE job.queue_id = asked.queue_id AND job.concurrency_key = asked.key AND job.state = 'queued' AND job.key_full
        ORDER BY job.rank, job.id
        LIMIT least(asked.most, %(limit)s::int)
    ) AS line
),

room AS MATERIALIZED (
    SELECT
        asked.queue_id, asked.key,
        coalesce(asked.most, %(limit)s::int) - count(holding.id) FILTER (WHERE holding.state = 'running') AS places,
        count(holding.id) FILTER (WHERE holding.state = 'queued') AS ready
    FROM asked
    LEFT JOIN holding ON asked.queue_id = holding.queue_id AND asked.key = holding.key
    GROUP BY asked.queue_id, asked.key, asked.most
),

-- Those that may be claimed and would not be among the first.
late AS MATERIALIZED (
    SELECT one.queue_id, one.key, one.id
    FROM (
        SELECT
            both_kinds.*,
            row_number() OVER (PARTITION BY both_kinds.queue_id, both_kinds.key ORDER BY both_kinds.rank, both_kinds.id) AS place
        FROM (
            SELECT holding.queue_id, holding.key, holding.id, holding.rank, FALSE AS waits
            FROM holding
            WHERE holding.state = 'queued'
            UNION ALL
            SELECT waiting.queue_id, waiting.key, waiting.id, waiting.rank, TRUE FROM waiting
        ) AS both_kinds
    ) AS one
    INNER JOIN room ON one.queue_id = room.queue_id AND one.key = room.key
    WHERE NOT one.waits AND one.place > room.places
),

giving_way AS MATERIALIZED (
    SELECT late.queue_id, late.key, job.id
    FROM late
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[late.id])
    WHERE job.state = 'queued' AND NOT job.key_full
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

free AS MATERIALIZED (
    SELECT room.queue_id, room.key, room.places - room.ready + count(giving_way.id) AS places
    FROM room
    LEFT JOIN giving_way ON room.queue_id = giving_way.queue_id AND room.key = giving_way.key
    GROUP BY room.queue_id, room.key, room.places, room.ready
),

coming AS MATERIALIZED (
    SELECT job.id
    FROM waiting
    INNER JOIN free ON waiting.queue_id = free.queue_id AND waiting.key = free.key
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[waiting.id])
    WHERE waiting.place <= free.places AND job.state = 'queued' AND job.key_full
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

changed AS (
    UPDATE jobs_job_live AS job
    SET key_full = turned.key_full
    FROM (
        SELECT giving_way.id, TRUE AS key_full FROM giving_way
        UNION ALL
        SELECT coming.id, FALSE FROM coming
    ) AS turned
    WHERE job.id = ANY(ARRAY[turned.id])
    RETURNING job.queue_id, job.key_full
)

SELECT changed.queue_id, count(*) FROM changed WHERE NOT changed.key_full GROUP BY changed.queue_id;
