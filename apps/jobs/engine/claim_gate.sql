-- Hold one shard of a queue's gate that has room, any that nobody else holds. Where there is but one, wait for it;
-- among several nobody waits, for a shard that was locked and found full stays locked (claim again instead).
-- While the breaker is not closed it is shard 0. The next statement of the transaction reads which it is from a
-- setting, with a snapshot that is younger than the wait.
WITH line AS MATERIALIZED (
    SELECT
        queue.id, queue.rate_per_second AS rate, coalesce(queue.burst, greatest(ceil(queue.rate_per_second), 1)) AS burst,
        first.breaker = 'closed' AS closed,
        first.breaker <> 'closed'
        OR NOT EXISTS (SELECT FROM queues_gate AS other WHERE other.queue_id = queue.id AND other.shard > 0) AS alone
    FROM queues_queue AS queue
    INNER JOIN queues_gate AS first ON queue.id = first.queue_id AND first.shard = 0
    WHERE queue.id = %(queue_id)s::uuid
),

free AS MATERIALIZED (
    SELECT gate.shard
    FROM line
    INNER JOIN queues_gate AS gate ON line.id = gate.queue_id
    WHERE gate.opens_after IS NULL
      AND (gate.cap IS NULL OR gate.in_flight < gate.cap)
      AND (
          line.rate IS NULL
          OR least(
              line.burst, gate.tokens + line.rate * extract(EPOCH FROM clock_timestamp() - gate.refilled_at)::float8
          ) >= 1
      )
      AND (line.closed OR gate.shard = 0)
    ORDER BY random()
    LIMIT 1
    FOR NO KEY UPDATE OF gate SKIP LOCKED
),

waited AS MATERIALIZED (
    SELECT gate.shard
    FROM line
    INNER JOIN queues_gate AS gate ON line.id = gate.queue_id
    WHERE gate.opens_after IS NULL
      AND (gate.cap IS NULL OR gate.in_flight < gate.cap)
      AND line.alone
      AND gate.shard = 0
    FOR NO KEY UPDATE OF gate
)

SELECT set_config('fencepost.gate', held.shard::text, TRUE)
FROM (
    SELECT free.shard FROM free
    UNION ALL
    SELECT waited.shard FROM waited WHERE NOT EXISTS (SELECT FROM free)
) AS held;
