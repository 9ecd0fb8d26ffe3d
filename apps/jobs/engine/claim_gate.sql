-- Hold the shard before which we stand (claim_gate_turn.sql), if it has room. While the breaker is not closed all are
-- held, and the first one charged: one job is let through wherever there is room for it, and the first may have none.
-- The next statement of the transaction reads which it is from settings, with a snapshot that is younger than the wait.
WITH held AS MATERIALIZED (
    SELECT gate.shard, first.breaker <> 'closed' AS whole
    FROM queues_gate AS gate
    INNER JOIN queues_gate AS first ON gate.queue_id = first.queue_id AND first.shard = 0
    INNER JOIN queues_queue AS queue ON gate.queue_id = queue.id
    WHERE gate.queue_id = %(queue_id)s::uuid
      AND gate.opens_after IS NULL
      AND (
          first.breaker <> 'closed'
          OR gate.shard = nullif(current_setting('fencepost.shard', TRUE), '')::smallint
          AND (gate.cap IS NULL OR gate.in_flight < gate.cap)
      )
      AND (
          queue.rate_per_second IS NULL
          OR least(
              coalesce(queue.burst, greatest(ceil(queue.rate_per_second), 1)),
              gate.tokens + queue.rate_per_second * extract(EPOCH FROM clock_timestamp() - gate.refilled_at)::float8
          ) >= 1
      )
    ORDER BY gate.shard
    FOR NO KEY UPDATE OF gate
)

SELECT set_config('fencepost.gate', held.shard::text, TRUE), set_config('fencepost.whole', held.whole::text, TRUE)
FROM held
WHERE held.shard = 0 OR NOT held.whole;
