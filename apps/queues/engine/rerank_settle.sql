-- A walk over these queues' jobs is over: the first one asks for a second, which is the last. A queue whose ageing
-- changed again meanwhile has another mark, and keeps it.
UPDATE queues_queue AS queue
SET rerank_after = CASE WHEN queue.rerank_after < 0 THEN (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint END
FROM unnest(%(queues)s::uuid [], %(marks)s::bigint []) AS walked (id, mark)
WHERE queue.id = walked.id AND queue.rerank_after = walked.mark
RETURNING queue.id;
