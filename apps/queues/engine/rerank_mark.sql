-- The ageing of this queue has changed: its jobs are to be ranked anew.
UPDATE queues_queue AS queue
SET rerank_after = -(extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint
WHERE queue.id = %(queue_id)s::uuid
RETURNING queue.rerank_after;
