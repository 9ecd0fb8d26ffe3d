-- Hold the shard before which we stand (claim_gate_turn.sql), if it has room. The next statement of the transaction
-- reads which it is from a setting, with a snapshot that is younger than the wait.
SELECT set_config('fencepost.gate', held.shard::text, TRUE)
FROM (
    SELECT gate.shard
    FROM queues_gate AS gate
    INNER JOIN queues_gate AS first ON gate.queue_id = first.queue_id AND first.shard = 0
    INNER JOIN queues_queue AS queue ON gate.queue_id = queue.id
    WHERE gate.queue_id = %(queue_id)s::uuid
      AND gate.shard = nullif(current_setting('fencepost.shard', TRUE), '')::smallint
      AND gate.opens_after IS NULL
      AND (gate.cap IS NULL OR gate.in_flight < gate.cap)
      AND (first.breaker = 'closed' OR gate.shard = 0)
      AND (
          queue.rate_per_second IS NULL
          OR least(
              coalesce(queue.burst, greatest(ceil(queue.rate_per_second), 1)),
              gate.tokens + queue.rate_per_second * extract(EPOCH FROM clock_timestamp() - gate.refilled_at)::float8
          ) >= 1
      )
    FOR NO KEY UPDATE OF gate
) AS held;
