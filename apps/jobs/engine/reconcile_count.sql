-- Set each shard of one queue to what runs on its charge, and tell which were wrong. A report that has not committed
-- is counted as running: it waits for the gate, and takes its job off afterwards.
WITH counted AS MATERIALIZED (
    SELECT gate.shard, gate.in_flight AS before, count(job.id) AS running
    FROM queues_gate AS gate
    LEFT JOIN jobs_job_live AS job
        ON job.state = 'running' AND job.queue_id = gate.queue_id AND job.shard = gate.shard
    WHERE gate.queue_id = %(queue_id)s::uuid
    GROUP BY gate.shard, gate.in_flight
)

UPDATE queues_gate AS gate
SET in_flight = counted.running
FROM counted
WHERE gate.queue_id = %(queue_id)s::uuid AND gate.shard = counted.shard AND counted.before <> counted.running
RETURNING gate.queue_id, gate.shard, counted.before, counted.running;
