-- Stand in line before one shard of a queue's gate that has room: one where nobody stands, else any. Who waited for the
-- row itself would be woken twice and have to look at it again, all while others wait for him; and who asked again until
-- one is free would keep the processors from those who are inside. While the breaker is not closed it is shard 0.
-- The plan does not depend on the values, and making one takes longer than the claim; nor on how much waits while it is made.
WITH door AS MATERIALIZED (
    SELECT gate.shard, hashtext(gate.queue_id::text || '/' || gate.shard) AS key
    FROM queues_gate AS first
    INNER JOIN queues_gate AS gate ON first.queue_id = gate.queue_id
    WHERE first.queue_id = %(queue_id)s::uuid
      AND first.shard = 0
      AND gate.opens_after IS NULL
      AND CASE WHEN first.breaker = 'closed' THEN gate.cap IS NULL OR gate.in_flight < gate.cap ELSE gate.shard = 0 END
    ORDER BY random()
),

free AS MATERIALIZED (
    SELECT door.shard FROM door
    WHERE pg_try_advisory_xact_lock(hashtext('fencepost gate'), door.key)
    LIMIT 1
),

waited AS MATERIALIZED (
    SELECT door.shard, pg_advisory_xact_lock(hashtext('fencepost gate'), door.key)
    FROM door
    WHERE NOT EXISTS (SELECT FROM free)
    LIMIT 1
)

SELECT
    set_config('fencepost.shard', coalesce((SELECT free.shard FROM free), (SELECT waited.shard FROM waited))::text, TRUE),
    set_config('plan_cache_mode', 'force_generic_plan', TRUE),
    set_config('enable_seqscan', 'off', TRUE),
    set_config('jit', 'off', TRUE);
