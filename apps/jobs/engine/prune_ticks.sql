-- Forget some ticks of long ago, of every schedule the oldest first. One that waits for its deadline stays.
WITH old AS MATERIALIZED (
    SELECT tick.schedule_id, tick.scheduled_for
    FROM jobs_schedule AS schedule
    CROSS JOIN LATERAL (
        SELECT one.schedule_id, one.scheduled_for
        FROM jobs_tick AS one
        WHERE one.schedule_id = schedule.id
          AND one.scheduled_for < clock_timestamp() - %(days)s::integer * interval '1 day'
          AND (one.deadline_at IS NULL OR one.late IS NOT NULL)
        ORDER BY one.scheduled_for
        LIMIT %(limit)s
    ) AS tick
    LIMIT %(limit)s
),

gone AS (
    DELETE FROM jobs_tick AS tick
    USING old
    WHERE tick.schedule_id = old.schedule_id AND tick.scheduled_for = old.scheduled_for
    RETURNING tick.schedule_id
)

SELECT count(*) FROM gone;
