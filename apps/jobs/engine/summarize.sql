-- Summarize what failed in a queue since a moment, by error class and top frame: of its failures the newest are looked
-- at, of the groups the largest are kept. Where the prose tells of the same groups it stays current.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

here AS MATERIALIZED (
    SELECT queue.id
    FROM queues_queue AS queue
    WHERE queue.id = %(queue_id)s::uuid AND queue.deleted_at IS NULL
    FOR KEY SHARE
),

failed AS MATERIALIZED (
    SELECT
        attempt.job_id, attempt.attempt, attempt.finished_at,
        coalesce(attempt.error_class, attempt.outcome) AS error_class,
        left(coalesce(attempt.error_message, ''), %(message_max)s::integer) AS message,
        -- After a long chain of causes, or before a long message.
        CASE
            WHEN length(attempt.traceback) > 2 * %(trace_max)s::integer
                THEN left(attempt.traceback, %(trace_max)s::integer) || right(attempt.traceback, %(trace_max)s::integer)
            ELSE attempt.traceback
        END AS trace
    FROM jobs_attempt AS attempt
    WHERE attempt.queue_id = %(queue_id)s::uuid
      AND attempt.finished_at > %(begins)s::timestamptz AND attempt.finished_at <= %(ends)s::timestamptz
      AND attempt.outcome IN ('retryable_error', 'permanent_error', 'timeout', 'lost', 'crashed')
    ORDER BY attempt.finished_at DESC
    LIMIT %(rows_max)s::integer
),

-- Python writes the frame that raised last, faulthandler the one that ran first, and says so. Split, not searched,
-- which is far slower.
framed AS MATERIALIZED (
    SELECT
        failed.*,
        regexp_match(
            split_part(
                CASE
                    WHEN failed.trace LIKE '%%(most recent call first)%%'
                        THEN split_part(split_part(failed.trace, 'Current thread', -1), '  File "', 2)
                    ELSE split_part(failed.trace, '  File "', -1)
                END, E'\n', 1
            ),
            '^([^"]+)", line (\d+)(?:,? in (.+))?$'
        ) AS words
    FROM failed
),

-- Of a path the last three parts are kept: it is not the same on every worker.
placed AS MATERIALIZED (
    SELECT
        framed.job_id, framed.attempt, framed.finished_at, framed.error_class, framed.message,
        left(
            regexp_replace(framed.words[1], '^.*/((?:[^/]*/){2}[^/]*)$', '\1')
            || ':' || framed.words[2] || coalesce(' in ' || framed.words[3], ''), %(frame_max)s::integer
        ) AS top_frame
    FROM framed
),

-- Those with most failures first, and of as many the newest.
grouped AS MATERIALIZED (
    SELECT
        placed.error_class, placed.top_frame, count(*) AS attempts, count(DISTINCT placed.job_id) AS jobs,
        count(DISTINCT placed.message) AS messages, min(placed.finished_at) AS first_seen,
        max(placed.finished_at) AS last_seen,
        (array_agg(placed.message ORDER BY placed.finished_at DESC))[1] AS message,
        (array_agg(placed.job_id ORDER BY placed.finished_at DESC))[1] AS job_id,
        (array_agg(placed.attempt ORDER BY placed.finished_at DESC))[1] AS attempt
    FROM placed
    GROUP BY placed.error_class, placed.top_frame
    ORDER BY attempts DESC, last_seen DESC
    LIMIT %(groups_max)s::integer
),

found AS MATERIALIZED (
    SELECT
        coalesce(
            jsonb_agg(
                jsonb_build_object(
                    'error_class', grouped.error_class, 'top_frame', grouped.top_frame, 'count', grouped.attempts,
                    'jobs', grouped.jobs, 'distinct_messages', grouped.messages, 'latest_message', grouped.message,
                    'first_seen', grouped.first_seen, 'last_seen', grouped.last_seen,
                    'sample', jsonb_build_object('job', grouped.job_id, 'attempt', grouped.attempt)
                )
                ORDER BY grouped.attempts DESC, grouped.last_seen DESC
            ),
            '[]'
        ) AS failures,
        coalesce(
            md5(string_agg(concat_ws(E'\t', grouped.error_class, grouped.top_frame), E'\n' ORDER BY grouped.error_class, grouped.top_frame)),
            ''
        ) AS fingerprint
    FROM grouped
)

INSERT INTO queues_failuresummary AS kept (
    queue_id, window_hours, failures, looked_at, fingerprint, computed_at, summary, model, told_of, state
)
SELECT
    here.id, %(window_hours)s::integer, found.failures, (SELECT count(*) FROM failed), found.fingerprint,
    least(clock.now, %(ends)s::timestamptz - interval '1 minute'), '', '', '',  -- of the look that chose it
    CASE WHEN found.fingerprint = '' THEN 'current' WHEN %(writes)s::boolean THEN 'pending' ELSE 'unavailable' END
FROM here
CROSS JOIN found
CROSS JOIN clock
ON CONFLICT (queue_id) DO UPDATE
SET
    window_hours = excluded.window_hours,
    failures = excluded.failures,
    looked_at = excluded.looked_at,
    fingerprint = excluded.fingerprint,
    computed_at = excluded.computed_at,
    summary = CASE WHEN excluded.fingerprint = '' THEN '' ELSE kept.summary END,
    model = CASE WHEN excluded.fingerprint = '' THEN '' ELSE kept.model END,
    told_of = CASE WHEN excluded.fingerprint = '' THEN '' ELSE kept.told_of END,
    state = CASE
        WHEN excluded.fingerprint IN ('', kept.told_of) THEN 'current'
        -- There is none to ask; or it did not answer, and nobody has asked again.
        WHEN excluded.state = 'unavailable' OR kept.state = 'unavailable' AND kept.asked_at IS NOT NULL THEN 'unavailable'
        WHEN kept.summary <> '' THEN 'stale'
        ELSE excluded.state
    END
-- An older look must not take the place of a newer one.
WHERE kept.computed_at IS NULL OR kept.computed_at < excluded.computed_at
RETURNING kept.state;
