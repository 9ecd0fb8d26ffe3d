-- The longest that any queue keeps its finished jobs, in days: the ledger is kept as long.
SELECT greatest(%(default_days)s::integer, (SELECT max(queue.retention_days) FROM queues_queue AS queue))::integer;
