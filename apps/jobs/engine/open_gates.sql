-- Hold the gate rows of one queue that wait for whatever may not have seen them: transactions of this database that are
-- older, and statements whose snapshot is. A claim that walked its lanes when the gate came is among those; the vacuum of
-- a large table, which may take hours, is not waited for.
SELECT gate.queue_id
FROM queues_gate AS gate
WHERE gate.queue_id = (
    SELECT waiting.queue_id
    FROM queues_gate AS waiting
    WHERE waiting.opens_after IS NOT NULL
      AND waiting.queue_id > %(after)s::uuid
      AND NOT EXISTS (
          SELECT
          FROM pg_stat_activity AS other
          WHERE other.datname = current_database()
            AND other.pid <> pg_backend_pid()
            AND other.backend_type <> 'autovacuum worker'
            AND greatest(age(other.backend_xmin), age(other.backend_xid))
                >= age(mod(waiting.opens_after, 4294967296)::text::xid)
      )
    ORDER BY waiting.queue_id
    LIMIT 1
)
ORDER BY gate.shard
FOR NO KEY UPDATE;
