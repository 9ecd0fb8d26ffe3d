-- Judge ticks whose deadline has come: has their job succeeded by then? Of each that has none, say so, once.
WITH due AS MATERIALIZED (
    SELECT tick.schedule_id, tick.scheduled_for, tick.deadline_at, tick.job_id
    FROM jobs_tick AS tick
    WHERE tick.late IS NULL AND tick.deadline_at <= (SELECT clock_timestamp())
    ORDER BY tick.deadline_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
),

judged AS (
    UPDATE jobs_tick AS tick
    SET late = NOT EXISTS (
        SELECT
        FROM jobs_job AS job
        WHERE job.id = due.job_id
          AND job.shelved_on >= (due.scheduled_for AT TIME ZONE 'UTC')::date
          AND job.shelved_on <= (due.deadline_at AT TIME ZONE 'UTC')::date
          AND job.state = 'completed'
          AND job.finished_at <= due.deadline_at
    )
    FROM due
    WHERE tick.schedule_id = due.schedule_id AND tick.scheduled_for = due.scheduled_for
    RETURNING tick.schedule_id, tick.scheduled_for, tick.deadline_at, tick.outcome, tick.why, tick.job_id, tick.late
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, job_ids, data)
    SELECT
        queue.project_id, schedule.queue_id, 'schedule.late', ARRAY[]::uuid [],
        jsonb_build_object(
            'schedule', schedule.id, 'name', schedule.name, 'scheduled_for', judged.scheduled_for,
            'deadline_at', judged.deadline_at, 'outcome', judged.outcome, 'why', judged.why, 'job', judged.job_id
        )
    FROM judged
    INNER JOIN jobs_schedule AS schedule ON judged.schedule_id = schedule.id
    INNER JOIN queues_queue AS queue ON schedule.queue_id = queue.id
    WHERE judged.late
    ORDER BY judged.deadline_at
)

SELECT schedule_id, scheduled_for, late FROM judged;
