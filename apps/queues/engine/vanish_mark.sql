-- Queues whose deletion has been committed since the last look: from now on nobody begins who knows them otherwise.
UPDATE queues_queue AS queue
SET vanish_after = clock_timestamp()
WHERE queue.deleted_at IS NOT NULL AND queue.vanish_after IS NULL
RETURNING queue.id;
