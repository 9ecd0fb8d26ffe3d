-- Take the summary that has waited longest for its prose: there is none of these groups, and no model was asked about
-- its queue within the hour. None, where so many of all queues' were taken in that time.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

spent AS MATERIALIZED (
    SELECT count(*) AS calls
    FROM queues_failuresummary AS summary
    CROSS JOIN clock
    WHERE summary.asked_at > clock.now - interval '1 hour'
),

wanted AS MATERIALIZED (
    SELECT summary.queue_id
    FROM queues_failuresummary AS summary
    INNER JOIN queues_queue AS queue ON summary.queue_id = queue.id
    CROSS JOIN clock
    CROSS JOIN spent
    WHERE summary.fingerprint NOT IN ('', summary.told_of)
      AND (summary.asked_at IS NULL OR summary.asked_at <= clock.now - interval '1 hour')
      AND queue.deleted_at IS NULL
      AND spent.calls < %(calls_max)s::integer
    ORDER BY summary.asked_at NULLS FIRST, summary.computed_at, summary.queue_id
    LIMIT 1
    FOR NO KEY UPDATE OF summary SKIP LOCKED
)

UPDATE queues_failuresummary AS summary
SET asked_at = clock.now
FROM wanted, clock
WHERE summary.queue_id = wanted.queue_id
RETURNING summary.queue_id, summary.asked_at, summary.fingerprint, summary.window_hours,
    summary.failures::text;
