-- Forget some ticks of a deleted queue's schedules, so that none of these takes too many along.
WITH gone AS (
    DELETE FROM jobs_tick AS tick
    WHERE (tick.schedule_id, tick.scheduled_for) IN (
        SELECT old.schedule_id, old.scheduled_for
        FROM jobs_schedule AS schedule
        INNER JOIN jobs_tick AS old ON schedule.id = old.schedule_id
        WHERE schedule.queue_id = %(queue_id)s::uuid
        LIMIT %(limit)s
    )
    RETURNING tick.schedule_id
)

SELECT count(*) FROM gone;
