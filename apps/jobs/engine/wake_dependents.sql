-- Settle the unsettled edges of parents that ended, and take exactly those off what their children wait for.
-- A child whose parent failed is named as doomed; cancelling it is the next statement's (shelve.sql).
WITH ended AS MATERIALIZED (
    SELECT * FROM unnest(%(parents)s::uuid [], %(states)s::text []) AS e (parent_id, state)
),

waiting AS MATERIALIZED (
    SELECT job.id, job.on_parent_failure
    FROM jobs_job_live AS job
    WHERE job.id IN (
        SELECT edge.child_id
        FROM jobs_dependency AS edge
        INNER JOIN ended ON edge.parent_id = ended.parent_id
        WHERE edge.settled_at IS NULL
    )
    ORDER BY job.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE
),

settled AS (
    UPDATE jobs_dependency AS edge
    SET settled_at = clock_timestamp()
    FROM ended
    WHERE edge.parent_id = ended.parent_id
      AND edge.settled_at IS NULL
      AND (
          edge.child_id IN (SELECT waiting.id FROM waiting)
          OR NOT EXISTS (SELECT FROM jobs_job_live AS gone WHERE gone.id = edge.child_id)
      )
    RETURNING edge.child_id, edge.parent_id, ended.state
),

counted AS MATERIALIZED (
    SELECT
        settled.child_id,
        count(*) AS parents,
        bool_or(settled.state <> 'completed') AND coalesce(min(waiting.on_parent_failure), 'cancel') <> 'run' AS doomed
    FROM settled
    INNER JOIN waiting ON settled.child_id = waiting.id
    GROUP BY settled.child_id
),

woken AS (
    UPDATE jobs_job_live AS job
    SET
        pending = job.pending - counted.parents,
        run_at = CASE WHEN job.pending = counted.parents THEN greatest(job.run_at, clock_timestamp()) ELSE job.run_at END,
        state = CASE
            WHEN job.pending > counted.parents OR counted.doomed OR job.state <> 'blocked' THEN job.state
            WHEN job.requires_approval AND job.approval IS NULL THEN 'awaiting_approval'
            WHEN job.run_at > clock_timestamp() THEN 'scheduled'
            ELSE 'queued'
        END,
        -- of one that is to be queued; on one that is scheduled it says nothing
        key_full = job.state = 'blocked' AND job.pending = counted.parents AND NOT counted.doomed
            AND (NOT job.requires_approval OR job.approval IS NOT NULL) AND job.concurrency_key IS NOT NULL,
        resume_state = CASE
            WHEN job.pending > counted.parents OR counted.doomed OR job.state <> 'paused' THEN job.resume_state
            WHEN job.requires_approval AND job.approval IS NULL THEN 'awaiting_approval'
            WHEN job.run_at > clock_timestamp() THEN 'scheduled'
            ELSE 'queued'
        END
    FROM counted
    WHERE job.id = counted.child_id
    RETURNING job.id, job.queue_id, job.state, counted.doomed
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, woken.queue_id, 'job.woken', woken.state, array_agg(woken.id)
    FROM woken
    INNER JOIN queues_queue AS queue ON woken.queue_id = queue.id
    WHERE NOT woken.doomed AND woken.state IN ('queued', 'scheduled', 'awaiting_approval')
    GROUP BY queue.project_id, woken.queue_id, woken.state
)

SELECT id, queue_id, state, doomed FROM woken;
