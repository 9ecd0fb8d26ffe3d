-- Put what waits in a workflow before everything else that is queued in its queues, in the order it stands in. What waits
-- for its time queues now; what waits for its parents, or for approval, will be next when it need not any more.
-- Whoever calls holds the lines' turns (move_lines.sql).
WITH held AS MATERIALIZED (
    SELECT job.id, job.queue_id, job.state, job.rank, job.priority, job.ranked_aging
    FROM jobs_job_live AS job
    WHERE job.workflow_id = %(workflow_id)s::uuid
      AND job.state IN ('queued', 'scheduled', 'retry_wait', 'blocked', 'awaiting_approval')
    ORDER BY job.id
    FOR NO KEY UPDATE
),

heads AS MATERIALIZED (
    SELECT
        line.queue_id,
        least(
            (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint,
            line.rank,
            (
                SELECT min(peer.rank)
                FROM jobs_job_live AS peer
                WHERE peer.queue_id = line.queue_id AND peer.state = 'queued' AND NOT peer.key_full AND peer.target IS NULL
                  AND peer.workflow_id IS DISTINCT FROM %(workflow_id)s::uuid
            ),
            (
                SELECT min(peer.rank)
                FROM jobs_job_live AS peer
                WHERE peer.queue_id = line.queue_id AND peer.state = 'queued' AND NOT peer.key_full AND peer.target IS NOT NULL
                  AND peer.workflow_id IS DISTINCT FROM %(workflow_id)s::uuid
            )
        ) AS rank
    FROM (
        -- Nothing moves back: neither behind where it stands, nor behind where its priority would put it now.
        SELECT
            held.queue_id,
            min(least(
                held.rank,
                (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint
                - held.priority * coalesce(held.ranked_aging, 4503599627370496)
            )) AS rank
        FROM held
        GROUP BY held.queue_id
    ) AS line
),

goals AS MATERIALIZED (
    SELECT
        held.id, held.state,
        heads.rank - 1000 * row_number() OVER (PARTITION BY held.queue_id ORDER BY held.rank DESC, held.id DESC) AS rank
    FROM held
    INNER JOIN heads ON held.queue_id = heads.queue_id
),

moved AS (
    UPDATE jobs_job_live AS job
    SET
        state = CASE WHEN goals.state IN ('scheduled', 'retry_wait') THEN 'queued' ELSE job.state END,
        key_full = job.key_full OR (goals.state IN ('scheduled', 'retry_wait') AND job.concurrency_key IS NOT NULL),
        run_at = least(job.run_at, clock_timestamp()),
        rank = goals.rank
    FROM goals
    WHERE job.id = goals.id
    RETURNING job.id, job.queue_id, goals.state AS before, job.state AS after
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, moved.queue_id, 'job.run_next', moved.after, array_agg(moved.id)
    FROM moved
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
    GROUP BY queue.project_id, moved.queue_id, moved.after
)

SELECT id, queue_id, before, after FROM moved;
