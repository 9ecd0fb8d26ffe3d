-- The breakers that let one job through to try, and what it came to. No outcome: it has vanished, or nobody waits for
-- it any more. A fence is the time of its claim, so the ledger is looked at from then on; a day is for clocks that differ.
SELECT gate.queue_id, gate.probe_job, gate.probe_fence, attempt.outcome
FROM queues_gate AS gate
LEFT JOIN LATERAL (
    SELECT ledger.outcome
    FROM jobs_attempt AS ledger
    WHERE ledger.job_id = gate.probe_job
      AND ledger.fence = gate.probe_fence
      AND ledger.finished_at >= to_timestamp(gate.probe_fence / 1000000.0) - interval '1 day'
      AND ledger.finished_at < %(ends)s::timestamptz
    LIMIT 1
) AS attempt ON TRUE
WHERE gate.breaker = 'half_open'
  AND gate.probe_job IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM jobs_job_live AS job
      WHERE job.id = ANY(ARRAY[gate.probe_job]) AND job.fence = gate.probe_fence AND job.state = 'running'
  )
ORDER BY gate.queue_id;
