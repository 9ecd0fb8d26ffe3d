-- Gates that count fewer jobs than run on their charge.
SELECT gate.queue_id || '/' || gate.shard
FROM queues_gate AS gate
WHERE gate.in_flight < (
    SELECT count(*) FROM jobs_job_live AS job
    WHERE job.queue_id = gate.queue_id AND job.shard = gate.shard AND job.state = 'running'
)
LIMIT %(limit)s;
