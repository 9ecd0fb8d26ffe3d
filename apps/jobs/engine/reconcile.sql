-- Hold every gate row of the first queue with a cap after this one, so that nothing is admitted while what runs is
-- counted. Without a cap nobody asks how many run, and a gate that came for a breaker alone has not counted them.
SELECT gate.queue_id
FROM queues_gate AS gate
WHERE gate.queue_id = (
    SELECT later.queue_id FROM queues_gate AS later
    WHERE later.queue_id > %(after)s::uuid AND later.opens_after IS NULL AND later.cap IS NOT NULL
    ORDER BY later.queue_id LIMIT 1
)
ORDER BY gate.shard
FOR NO KEY UPDATE;
