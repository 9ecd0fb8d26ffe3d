-- Which queues have failed since their failures were last summarized, those first that were looked at longest ago; and
-- those of which nothing has failed since, but whose window has moved on.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

known AS MATERIALIZED (
    SELECT
        queue.id, summary.computed_at, coalesce(summary.looked_at, 0) AS looked_at,
        clock.now - %(window_hours)s::integer * interval '1 hour' AS begins,
        clock.now + interval '1 minute' AS ends  -- the days ahead are left out
    FROM queues_queue AS queue
    CROSS JOIN clock
    LEFT JOIN queues_failuresummary AS summary ON queue.id = summary.queue_id
    WHERE queue.deleted_at IS NULL
      AND (summary.computed_at IS NULL OR summary.computed_at <= clock.now - %(every_ms)s::bigint * interval '1 millisecond')
),

asked AS MATERIALIZED (
    SELECT
        known.*,
        -- What was being written when somebody looked counts as new.
        greatest(known.begins, known.computed_at - %(margin_seconds)s::float8 * interval '1 second') AS since
    FROM known
)

SELECT asked.id, asked.begins
FROM asked
CROSS JOIN clock
-- The limit leaves no way but the index of failures.
LEFT JOIN LATERAL (
    SELECT TRUE AS lately
    FROM jobs_attempt AS attempt
    WHERE attempt.queue_id = asked.id AND attempt.finished_at > asked.since AND attempt.finished_at <= asked.ends
      AND attempt.outcome IN ('retryable_error', 'permanent_error', 'timeout', 'lost', 'crashed')
    LIMIT 1
) AS failed ON TRUE
WHERE failed.lately
   OR (asked.looked_at > 0 AND asked.computed_at <= clock.now - %(slide_ms)s::bigint * interval '1 millisecond')
ORDER BY asked.computed_at NULLS FIRST, asked.id
LIMIT %(limit)s::integer;
