-- Let a job stand where its edges say, now that they have changed: blocked while any is unsettled, else where it stood, or
-- where its parents' end would have put it. The caller holds it, and its project's turn. It keeps its rank.
WITH waits AS MATERIALIZED (
    SELECT count(*) AS parents
    FROM jobs_dependency AS edge
    WHERE edge.child_id = %(job_id)s::uuid AND edge.settled_at IS NULL
),

stand AS MATERIALIZED (
    SELECT
        job.id, job.state AS before, waits.parents, clock.now,
        CASE
            WHEN waits.parents > 0 THEN 'blocked'
            WHEN coalesce(job.resume_state, job.state) <> 'blocked' THEN coalesce(job.resume_state, job.state)
            WHEN job.requires_approval AND job.approval IS NULL THEN 'awaiting_approval'
            WHEN job.run_at > clock.now THEN 'scheduled'
            ELSE 'queued'
        END AS state
    FROM jobs_job_live AS job
    CROSS JOIN waits
    CROSS JOIN (SELECT clock_timestamp() AS now) AS clock
    WHERE job.id = %(job_id)s::uuid
),

changed AS (
    UPDATE jobs_job_live AS job
    SET
        pending = stand.parents,
        state = CASE WHEN job.state = 'paused' THEN 'paused' ELSE stand.state END,
        resume_state = CASE WHEN job.state = 'paused' THEN stand.state END,
        run_at = CASE
            WHEN coalesce(job.resume_state, job.state) = 'blocked' AND stand.state <> 'blocked' THEN greatest(job.run_at, stand.now)
            ELSE job.run_at
        END,
        key_full = CASE
            WHEN job.state = 'queued' AND stand.state = 'queued' THEN job.key_full
            ELSE job.state <> 'paused' AND stand.state = 'queued' AND job.concurrency_key IS NOT NULL
        END
    FROM stand
    WHERE job.id = ANY(ARRAY[stand.id])
    RETURNING job.id, job.queue_id, job.concurrency_key, stand.before, job.state, job.pending
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, changed.queue_id, 'job.parents_changed', changed.state, ARRAY[changed.id],
        jsonb_build_object('pending', changed.pending)
    FROM changed
    INNER JOIN queues_queue AS queue ON changed.queue_id = queue.id
)

SELECT queue_id, concurrency_key, before, state FROM changed;
