-- Measure how deep queues are, for the depth cache: those that have something queued or running, or had at the last look.
-- In turn (depth_turn.sql), and not soon after another scheduler. A queue is counted no further than `cap`, along its lanes; the
-- longer that takes, the longer it is left alone: `rest_us` for each job counted. At most `limit` queues a turn, those
-- unmeasured for longest first. The oldest is looked for among the heads of each type and priority, at most `heads` of them.
WITH RECURSIVE turn AS MATERIALIZED (
    SELECT
        clock_timestamp() AS now,
        (extract(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS now_micros,
        set_config('synchronous_commit', 'off', TRUE) AS quick
    WHERE NOT EXISTS (
        SELECT FROM queues_depth AS depth
        WHERE depth.measured_at > clock_timestamp() - %(every_ms)s::bigint * interval '1 millisecond'
    )
),

walk AS (
    SELECT (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
        ORDER BY job.queue_id LIMIT 1
    ) AS queue_id
    FROM turn
    UNION ALL
    SELECT (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NULL AND job.queue_id > walk.queue_id
        ORDER BY job.queue_id LIMIT 1
    )
    FROM walk
    WHERE walk.queue_id IS NOT NULL
),

-- … and those in which something waits for one worker.
aimed AS (
    SELECT (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
        ORDER BY job.queue_id LIMIT 1
    ) AS queue_id
    FROM turn
    UNION ALL
    SELECT (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL AND job.queue_id > aimed.queue_id
        ORDER BY job.queue_id LIMIT 1
    )
    FROM aimed
    WHERE aimed.queue_id IS NOT NULL
),

running AS MATERIALIZED (
    SELECT job.queue_id, count(*) AS jobs
    FROM jobs_job_live AS job
    WHERE job.state = 'running' AND EXISTS (SELECT FROM turn)
    GROUP BY job.queue_id
),

concerned AS MATERIALIZED (
    SELECT walk.queue_id FROM walk WHERE walk.queue_id IS NOT NULL
    UNION
    SELECT aimed.queue_id FROM aimed WHERE aimed.queue_id IS NOT NULL
    UNION
    SELECT running.queue_id FROM running
    UNION
    SELECT depth.queue_id FROM queues_depth AS depth WHERE depth.queued > 0 OR depth.running > 0
),

due AS MATERIALIZED (
    SELECT queue.id AS queue_id, turn.now, turn.now_micros
    FROM concerned
    CROSS JOIN turn
    INNER JOIN queues_queue AS queue ON concerned.queue_id = queue.id
    LEFT JOIN queues_depth AS known ON concerned.queue_id = known.queue_id
    WHERE known.queue_id IS NULL
       OR known.measured_at <= turn.now - known.queued * %(rest_us)s::bigint * interval '1 microsecond'
    ORDER BY known.measured_at NULLS FIRST, queue.id
    LIMIT %(limit)s::int
),

measured AS MATERIALIZED (
    SELECT due.queue_id, due.now, least(counted.jobs + for_one.jobs + behind_keys.jobs, %(cap)s::bigint) AS queued, coalesce(running.jobs, 0) AS running, oldest.at AS oldest_at
    FROM due
    LEFT JOIN running ON due.queue_id = running.queue_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs
        FROM (
            SELECT FROM jobs_job_live AS job
            WHERE job.queue_id = due.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
            LIMIT %(cap)s::bigint
        ) AS lane
    ) AS counted
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs
        FROM (
            SELECT FROM jobs_job_live AS job
            WHERE job.queue_id = due.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
            LIMIT %(cap)s::bigint
        ) AS lane
    ) AS for_one
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs
        FROM (
            SELECT FROM jobs_job_live AS job
            WHERE job.queue_id = due.queue_id AND job.state = 'queued' AND job.key_full
            LIMIT %(cap)s::bigint
        ) AS lane
    ) AS behind_keys
    CROSS JOIN LATERAL (
        -- All that is queued at one priority ranks before what would become due there just now.
        WITH RECURSIVE head AS (
            (
                SELECT
                    1 AS step, job.type, job.run_at,
                    due.now_micros - job.priority * coalesce(job.ranked_aging, 4503599627370496) AS last_rank
                FROM jobs_job_live AS job
                WHERE job.queue_id = due.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
                ORDER BY job.type, job.rank LIMIT 1
            )
            UNION ALL
            SELECT head.step + 1, following.type, following.run_at, following.last_rank
            FROM head
            CROSS JOIN LATERAL (
                SELECT
                    job.type, job.run_at,
                    due.now_micros - job.priority * coalesce(job.ranked_aging, 4503599627370496) AS last_rank
                FROM jobs_job_live AS job
                WHERE job.queue_id = due.queue_id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
                  AND (job.type, job.rank) > (head.type, head.last_rank)
                ORDER BY job.type, job.rank LIMIT 1
            ) AS following
            WHERE head.step < %(heads)s::int
        )

        SELECT min(head.run_at) AS at FROM head
    ) AS oldest
)

INSERT INTO queues_depth AS depth (queue_id, queued, running, oldest_at, measured_at)
SELECT measured.queue_id, measured.queued, measured.running, measured.oldest_at, measured.now
FROM measured
ON CONFLICT (queue_id) DO UPDATE
SET
    queued = excluded.queued,
    running = excluded.running,
    oldest_at = excluded.oldest_at,
    measured_at = excluded.measured_at
RETURNING depth.queue_id;
