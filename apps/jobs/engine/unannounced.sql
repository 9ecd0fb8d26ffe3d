-- Types that wait in some queues although no live worker there has announced them: a loose walk over the lanes, one
-- step for each type, however many jobs there are. Each with how many wait, since when the first of them does,
-- and when the last worker that knew the type ended (NULL: none has been seen).
WITH RECURSIVE asked AS MATERIALIZED (
    SELECT queue.id, project.organization_id
    FROM queues_queue AS queue
    INNER JOIN accounts_project AS project ON queue.project_id = project.id
    WHERE queue.id = ANY(%(queue_ids)s::uuid [])
),

walk AS (
    SELECT asked.id AS queue_id, asked.organization_id, 1 AS step, (
        SELECT job.type FROM jobs_job_live AS job
        WHERE job.queue_id = asked.id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
        ORDER BY job.type LIMIT 1
    ) AS type
    FROM asked
    UNION ALL
    SELECT walk.queue_id, walk.organization_id, walk.step + 1, (
        SELECT job.type FROM jobs_job_live AS job
        WHERE job.queue_id = walk.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL AND job.type > walk.type
        ORDER BY job.type LIMIT 1
    )
    FROM walk
    WHERE walk.type IS NOT NULL AND walk.step < %(steps)s::int
),

live AS MATERIALIZED (
    SELECT session.queues, session.types, worker.organization_id
    FROM workers_session AS session
    INNER JOIN workers_worker AS worker ON session.worker_id = worker.id
    WHERE session.ended_at IS NULL AND session.fenced_at IS NULL AND NOT session.draining
      AND session.lease_expires_at > clock_timestamp()
      AND session.reservation_id IS NULL  -- else it takes nothing of the open line
),

strange AS MATERIALIZED (
    SELECT walk.queue_id, walk.type
    FROM walk
    WHERE walk.type IS NOT NULL
      AND NOT EXISTS (
        SELECT FROM live
        WHERE walk.type = ANY(live.types)
          AND (cardinality(live.queues) = 0 OR walk.queue_id = ANY(live.queues))
          AND (live.organization_id IS NULL OR live.organization_id = walk.organization_id)
    )
    LIMIT %(limit)s::int
)

SELECT
    strange.queue_id, strange.type, waiting.jobs, waiting.oldest_at,
    (
        SELECT max(least(session.ended_at, session.fenced_at, session.lease_expires_at))
        FROM workers_session AS session
        WHERE strange.type = ANY(session.types)
    ) AS known_until
FROM strange
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, min(lane.run_at) AS oldest_at
    FROM (
        SELECT job.run_at
        FROM jobs_job_live AS job
        WHERE job.queue_id = strange.queue_id AND job.type = strange.type AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
        ORDER BY job.rank
        LIMIT %(cap)s::bigint
    ) AS lane
) AS waiting
ORDER BY waiting.oldest_at, strange.type;
