-- Hold every gate row of the first queue after this one, so that nothing is admitted while what runs is counted.
SELECT gate.queue_id
FROM queues_gate AS gate
WHERE gate.queue_id = (
    SELECT later.queue_id FROM queues_gate AS later
    WHERE later.queue_id > %(after)s::uuid AND later.opens_after IS NULL
    ORDER BY later.queue_id LIMIT 1
)
ORDER BY gate.shard
FOR NO KEY UPDATE;
