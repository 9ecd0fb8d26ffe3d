-- Let a job that awaits approval go on: into the line, or to its time where that lies ahead. It keeps the rank it has
-- waited with, and whoever approved stays on it: its handler is told.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

approved AS (
    UPDATE jobs_job_live AS job
    SET
        state = CASE WHEN job.run_at > clock.now THEN 'scheduled' ELSE 'queued' END,
        run_at = greatest(job.run_at, clock.now),
        key_full = job.run_at <= clock.now AND job.concurrency_key IS NOT NULL,
        approval = coalesce(job.approval, '{}') || jsonb_build_object(
            'decision', 'approved', 'at', clock.now, 'by', %(by)s::text, 'note', %(note)s::text
        )
    FROM clock
    WHERE job.id = %(job_id)s::uuid AND job.state = 'awaiting_approval'
    RETURNING job.id, job.queue_id, job.concurrency_key, job.state
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, approved.queue_id, 'job.approved', approved.state, ARRAY[approved.id],
        jsonb_build_object('by', %(by)s::text, 'note', %(note)s::text)
    FROM approved
    INNER JOIN queues_queue AS queue ON approved.queue_id = queue.id
)

SELECT queue_id, concurrency_key, state FROM approved;
