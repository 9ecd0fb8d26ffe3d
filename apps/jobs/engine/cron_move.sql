-- Say when schedules, held by the caller, are due next; and of those that cannot fire any more, why, in the project's log.
WITH moved AS (
    UPDATE jobs_schedule AS schedule
    SET next_run_at = told.next_run_at, last_job_id = coalesce(told.job_id, schedule.last_job_id), trouble = told.trouble
    FROM unnest(%(schedules)s::uuid [], %(nexts)s::timestamptz [], %(jobs)s::uuid [], %(troubles)s::text [])
        AS told (id, next_run_at, job_id, trouble)
    WHERE schedule.id = told.id
    RETURNING schedule.id, schedule.queue_id, schedule.name, schedule.trouble
),

troubled AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, job_ids, data)
    SELECT
        queue.project_id, moved.queue_id, 'schedule.troubled', ARRAY[]::uuid [],
        jsonb_build_object('schedule', moved.id, 'name', moved.name, 'trouble', moved.trouble)
    FROM moved
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
    WHERE moved.trouble <> ''
)

SELECT id FROM moved;
