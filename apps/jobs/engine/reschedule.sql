-- Change when a waiting job is due, and with it its rank. A time that has passed is now: it buys no place in line,
-- and costs none that was held.
WITH held AS MATERIALIZED (
    SELECT job.id, job.state, job.run_at
    FROM jobs_job_live AS job
    WHERE job.id = %(job_id)s::uuid AND job.state <> 'running'
    FOR NO KEY UPDATE
),

due AS MATERIALIZED (
    SELECT
        held.*, clock.now,
        greatest(
            clock.now, %(run_at)s::timestamptz, clock.now + %(delay_ms)s::bigint * interval '1 millisecond'
        ) AS at
    FROM held
    CROSS JOIN LATERAL (SELECT clock_timestamp() AS now WHERE held.id IS NOT NULL) AS clock
),

moved AS (
    UPDATE jobs_job_live AS job
    SET
        state = CASE
            WHEN job.state = 'queued' AND due.at > due.now THEN 'scheduled'
            WHEN job.state IN ('scheduled', 'retry_wait') AND due.at <= due.now THEN 'queued'
            ELSE job.state
        END,
        resume_state = CASE
            WHEN job.resume_state = 'queued' AND due.at > due.now THEN 'scheduled'
            WHEN job.resume_state IN ('scheduled', 'retry_wait') AND due.at <= due.now THEN 'queued'
            ELSE job.resume_state
        END,
        run_at = due.at,
        key_full = CASE
            WHEN due.at > due.now THEN FALSE
            WHEN job.state IN ('scheduled', 'retry_wait') THEN job.concurrency_key IS NOT NULL
            ELSE job.key_full
        END,
        -- least() passes over the NULL of a time ahead, for which a place held so far does not count
        rank = least(
            CASE WHEN due.at <= due.now THEN job.rank END,
            (extract(EPOCH FROM due.at) * 1000000)::bigint
            - job.priority * coalesce(job.ranked_aging, 4503599627370496)
        )
    FROM due
    WHERE job.id = ANY(ARRAY[due.id])
    RETURNING job.id, job.queue_id, due.state AS before, job.state, due.run_at AS run_at_before, job.run_at
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, moved.queue_id, 'job.rescheduled', moved.state, ARRAY[moved.id],
        jsonb_build_object('run_at', moved.run_at)
    FROM moved
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
)

SELECT id, queue_id, before, state, run_at_before, run_at FROM moved;
