-- Sum up how attempts ended, by queue and minute, from the ledger: whole minutes anew, so that a second time changes
-- nothing. A wait or a run of t ms stands in slot 0 below 1 ms, else in slot 1 + floor(2 log2 t), at most the last.
WITH ended AS MATERIALIZED (
    SELECT
        attempt.queue_id, date_trunc('minute', attempt.finished_at) AS minute, attempt.job_id, attempt.fence,
        attempt.outcome = 'success' AS completed,
        attempt.outcome IN ('retryable_error', 'permanent_error', 'timeout', 'lost', 'crashed') AS failed,
        attempt.outcome = 'lost' AS lost,
        attempt.outcome IN ('snoozed', 'retryable_error', 'permanent_error', 'timeout', 'lost', 'crashed') AS mortal,
        greatest(extract(EPOCH FROM attempt.started_at - attempt.run_at) * 1000, 0)::float8 AS wait_ms,
        greatest(extract(EPOCH FROM attempt.finished_at - attempt.started_at) * 1000, 0)::float8 AS run_ms
    FROM jobs_attempt AS attempt
    WHERE attempt.finished_at >= %(begins)s::timestamptz AND attempt.finished_at < %(ends)s::timestamptz
),

died AS MATERIALIZED (
    SELECT ended.queue_id, ended.minute, count(*) AS jobs
    FROM ended
    -- The limit leaves no way but the index on id, however many dead letters there are.
    CROSS JOIN LATERAL (
        SELECT FROM jobs_job_dead AS one WHERE one.id = ended.job_id AND one.fence = ended.fence LIMIT 1
    ) AS dead
    WHERE ended.mortal
    GROUP BY ended.queue_id, ended.minute
),

summed AS MATERIALIZED (
    SELECT
        ended.queue_id, ended.minute,
        count(*) FILTER (WHERE ended.completed) AS completed,
        count(*) FILTER (WHERE ended.failed) AS failed,
        count(*) FILTER (WHERE ended.lost) AS lost,
        percentile_cont(ARRAY[0.5, 0.95, 0.99]::float8 []) WITHIN GROUP (ORDER BY ended.wait_ms) AS wait,
        percentile_cont(ARRAY[0.5, 0.95, 0.99]::float8 []) WITHIN GROUP (ORDER BY ended.run_ms)
        FILTER (WHERE ended.completed OR ended.failed) AS run
    FROM ended
    GROUP BY ended.queue_id, ended.minute
),

slots AS (
    SELECT spread.queue_id, spread.minute, spread.slot, sum(spread.waits) AS waits, sum(spread.runs) AS runs
    FROM (
        SELECT
            ended.queue_id, ended.minute, 1 AS waits, 0 AS runs,
            CASE WHEN ended.wait_ms < 1 THEN 0 ELSE least(1 + floor(2 * ln(ended.wait_ms) / ln(2)), %(last_slot)s::integer) END AS slot
        FROM ended
        UNION ALL
        SELECT
            ended.queue_id, ended.minute, 0 AS waits, 1 AS runs,
            CASE WHEN ended.run_ms < 1 THEN 0 ELSE least(1 + floor(2 * ln(ended.run_ms) / ln(2)), %(last_slot)s::integer) END AS slot
        FROM ended
        WHERE ended.completed OR ended.failed
    ) AS spread
    GROUP BY spread.queue_id, spread.minute, spread.slot
),

drawn AS (
    SELECT
        summed.queue_id, summed.minute,
        array_agg(coalesce(slots.waits, 0)::integer ORDER BY step.slot) AS waits,
        array_agg(coalesce(slots.runs, 0)::integer ORDER BY step.slot) AS runs
    FROM summed
    CROSS JOIN generate_series(0, %(last_slot)s::integer) AS step (slot)
    LEFT JOIN slots
        ON summed.queue_id = slots.queue_id AND summed.minute = slots.minute AND step.slot = slots.slot
    GROUP BY summed.queue_id, summed.minute
)

INSERT INTO queues_minutestat AS stat (
    queue_id, minute, completed, failed, dead_lettered, lost,
    wait_p50_ms, wait_p95_ms, wait_p99_ms, run_p50_ms, run_p95_ms, run_p99_ms, wait_histogram, run_histogram
)
SELECT
    summed.queue_id, summed.minute, summed.completed, summed.failed, coalesce(died.jobs, 0), summed.lost,
    summed.wait[1], summed.wait[2], summed.wait[3], summed.run[1], summed.run[2], summed.run[3], drawn.waits, drawn.runs
FROM summed
INNER JOIN drawn ON summed.queue_id = drawn.queue_id AND summed.minute = drawn.minute
LEFT JOIN died ON summed.queue_id = died.queue_id AND summed.minute = died.minute
INNER JOIN queues_queue AS queue ON summed.queue_id = queue.id
ON CONFLICT (queue_id, minute) DO UPDATE
SET
    completed = excluded.completed,
    failed = excluded.failed,
    -- A dead letter that was replayed since has died all the same.
    dead_lettered = greatest(stat.dead_lettered, excluded.dead_lettered),
    lost = excluded.lost,
    wait_p50_ms = excluded.wait_p50_ms,
    wait_p95_ms = excluded.wait_p95_ms,
    wait_p99_ms = excluded.wait_p99_ms,
    run_p50_ms = excluded.run_p50_ms,
    run_p95_ms = excluded.run_p95_ms,
    run_p99_ms = excluded.run_p99_ms,
    wait_histogram = excluded.wait_histogram,
    run_histogram = excluded.run_histogram
WHERE (stat.wait_histogram, stat.run_histogram, stat.completed, stat.failed, stat.lost)
    IS DISTINCT FROM (excluded.wait_histogram, excluded.run_histogram, excluded.completed, excluded.failed, excluded.lost)
   OR stat.dead_lettered < excluded.dead_lettered
RETURNING stat.queue_id;
