-- Attempts that began while their queue's cap was used up. A cap counts from its last change on, and a run
-- until the ledger closed it; at the same instant, ends come first.
WITH capped AS MATERIALIZED (
    SELECT
        gate.queue_id,
        sum(gate.cap) AS cap,
        coalesce(
            (
                SELECT max(entry.at) FROM audit_entry AS entry
                WHERE entry.target_id = gate.queue_id::text AND entry.action LIKE 'queue.%%'
            ),
            '-infinity'
        ) AS since
    FROM queues_gate AS gate
    WHERE gate.cap IS NOT NULL
    GROUP BY gate.queue_id
),

run AS (
    SELECT attempt.queue_id, attempt.job_id, attempt.fence, attempt.started_at, attempt.finished_at
    FROM jobs_attempt AS attempt
    WHERE attempt.queue_id IN (SELECT capped.queue_id FROM capped)
    UNION ALL
    SELECT job.queue_id, job.id, job.fence, job.started_at, NULL
    FROM jobs_job_live AS job
    WHERE job.state = 'running' AND job.queue_id IN (SELECT capped.queue_id FROM capped)
),

step AS (
    SELECT run.queue_id, run.job_id, run.fence, run.started_at AS at, 1 AS change FROM run
    UNION ALL
    SELECT run.queue_id, run.job_id, run.fence, run.finished_at, -1 FROM run WHERE run.finished_at IS NOT NULL
),

walk AS (
    SELECT step.*, sum(step.change) OVER (PARTITION BY step.queue_id ORDER BY step.at, step.change) AS in_flight
    FROM step
)

SELECT walk.job_id || '/' || walk.fence
FROM walk
INNER JOIN capped ON walk.queue_id = capped.queue_id
WHERE walk.change = 1 AND walk.at > capped.since AND walk.in_flight > capped.cap
LIMIT %(limit)s;
