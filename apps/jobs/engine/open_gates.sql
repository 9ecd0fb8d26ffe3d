-- Hold the gate rows of one queue that wait for whatever began before them; everything of that kind has ended.
SELECT gate.queue_id
FROM queues_gate AS gate
WHERE gate.queue_id = (
    SELECT waiting.queue_id
    FROM queues_gate AS waiting
    WHERE waiting.opens_after < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      AND waiting.queue_id > %(after)s::uuid
    ORDER BY waiting.queue_id
    LIMIT 1
)
ORDER BY gate.shard
FOR NO KEY UPDATE;
