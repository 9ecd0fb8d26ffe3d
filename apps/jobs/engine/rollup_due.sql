-- Which minutes are to be summed up, unless somebody has just done so: those from where the ledger was settled at the
-- last turn, and how far it is settled now. Nobody writes an end that is earlier than the beginning of their own
-- transaction; one that has been open for longer than `late_seconds` is not waited for.
SELECT
    span.begins, least(span.begins + %(span_minutes)s::integer * interval '1 minute', span.now + interval '1 minute') AS ends,
    greatest(
        least(
            span.now - %(margin_seconds)s::float8 * interval '1 second',
            (
                SELECT min(writer.xact_start)
                FROM pg_stat_activity AS writer
                WHERE writer.datname = current_database() AND writer.backend_xid IS NOT NULL
            )
        ),
        span.now - %(late_seconds)s::float8 * interval '1 second'
    ) AS settled_at,
    span.begins + %(span_minutes)s::integer * interval '1 minute' < span.now AS is_behind
FROM (
    SELECT
        clock.now,
        date_trunc(
            'minute',
            greatest(mark.settled_at, clock.now - %(back_hours)s::integer * interval '1 hour')
        ) AS begins
    FROM (SELECT clock_timestamp() AS now) AS clock
    LEFT JOIN jobs_rollup AS mark ON mark.id = 1
    WHERE mark.id IS NULL
       OR mark.rolled_at <= clock.now - %(every_ms)s::bigint * interval '1 millisecond'
) AS span;
