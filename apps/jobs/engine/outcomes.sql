-- How jobs ended, within a span of time, in queues whose breaker is closed: of each the last ones, no more than its
-- window holds, and only what started since it counts. A queue without any comes once, for its rules. What was put
-- off, handed back, cancelled or lost says nothing of what the queue's jobs depend on.
WITH line AS MATERIALIZED (
    SELECT queue.id, queue.breaker_since, queue.breaker_window, queue.breaker_trip, queue.breaker_share
    FROM queues_queue AS queue
    WHERE queue.breaker_window IS NOT NULL
      AND NOT EXISTS (SELECT FROM queues_gate AS gate WHERE gate.queue_id = queue.id AND gate.breaker <> 'closed')
),

ended AS MATERIALIZED (
    SELECT
        attempt.queue_id, attempt.finished_at, attempt.id, attempt.outcome <> 'success' AS failed,
        row_number() OVER (PARTITION BY attempt.queue_id ORDER BY attempt.finished_at DESC, attempt.id DESC) AS place
    FROM jobs_attempt AS attempt
    INNER JOIN line ON attempt.queue_id = line.id
    WHERE attempt.finished_at >= %(begins)s::timestamptz
      AND attempt.finished_at < %(ends)s::timestamptz
      AND attempt.started_at > line.breaker_since
      AND attempt.outcome IN ('success', 'retryable_error', 'permanent_error', 'timeout', 'crashed')
)

SELECT
    line.id, line.breaker_since, line.breaker_window, line.breaker_trip, line.breaker_share,
    ended.finished_at, ended.id, ended.failed
FROM line
LEFT JOIN ended ON line.id = ended.queue_id AND ended.place <= line.breaker_window
ORDER BY line.id;
