-- What there is to know of the health of a page of a project's queues: newest first, or the oldest of those after one.
-- No more than `cap` of a queue's jobs are looked at of each kind: of the open line, of what waits for one worker, and
-- of what a key holds back.
WITH page AS MATERIALIZED (
    SELECT queue.*, project.organization_id
    FROM queues_queue AS queue
    INNER JOIN accounts_project AS project ON queue.project_id = project.id
    WHERE queue.project_id = %(project_id)s::uuid
      AND (%(queue_id)s::uuid IS NULL OR queue.id = %(queue_id)s::uuid)
      AND (%(older_than)s::uuid IS NULL OR queue.id < %(older_than)s::uuid)
      AND (%(newer_than)s::uuid IS NULL OR queue.id > %(newer_than)s::uuid)
    ORDER BY CASE WHEN %(newer_than)s::uuid IS NULL THEN queue.id END DESC, queue.id
    LIMIT %(limit)s::integer
),

live AS MATERIALIZED (
    SELECT session.queues, worker.organization_id
    FROM workers_session AS session
    INNER JOIN workers_worker AS worker ON session.worker_id = worker.id
    WHERE session.ended_at IS NULL AND session.fenced_at IS NULL AND NOT session.draining
      AND worker.drained_at IS NULL AND session.lease_expires_at > clock_timestamp()
      AND session.reservation_id IS NULL  -- else it takes nothing of the open line
),

running AS MATERIALIZED (
    SELECT job.queue_id, count(*) AS jobs
    FROM jobs_job_live AS job
    WHERE job.state = 'running'
    GROUP BY job.queue_id
)

SELECT
    page.id, page.name, page.project_id,
    waiting.high, waiting.normal, waiting.low, waiting.oldest_at, depth.queued, depth.oldest_at,
    coalesce(running.jobs, 0), page.max_concurrency,
    (
        SELECT count(*) FROM live
        WHERE (cardinality(live.queues) = 0 OR page.id = ANY(live.queues))
          AND (live.organization_id IS NULL OR live.organization_id = page.organization_id)
    ),
    coalesce(gate.breaker, 'closed'),
    page.rate_per_second IS NOT NULL AND gate.tokens IS NOT NULL
        AND gate.tokens + page.rate_per_second * extract(EPOCH FROM clock_timestamp() - gate.refilled_at)::float8 < 1,
    page.paused_at IS NOT NULL AND (page.paused_until IS NULL OR page.paused_until > clock_timestamp()),
    page.pause_reason,
    hour.completed, hour.failed, hour.dead_lettered, hour.runs, clock_timestamp()
FROM page
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE lane.priority > 0) AS high, count(*) FILTER (WHERE lane.priority = 0) AS normal,
        count(*) FILTER (WHERE lane.priority < 0) AS low, min(lane.run_at) AS oldest_at
    FROM (
        (
            SELECT job.priority, job.run_at FROM jobs_job_live AS job
            WHERE job.queue_id = page.id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
            ORDER BY job.type, job.rank  -- along the index, as the others
            LIMIT %(cap)s::bigint
        )
        UNION ALL
        (
            SELECT job.priority, job.run_at FROM jobs_job_live AS job
            WHERE job.queue_id = page.id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
            ORDER BY job.target, job.type, job.rank
            LIMIT %(cap)s::bigint
        )
        UNION ALL
        (
            SELECT job.priority, job.run_at FROM jobs_job_live AS job
            WHERE job.queue_id = page.id AND job.state = 'queued' AND job.key_full
            ORDER BY job.concurrency_key, job.rank
            LIMIT %(cap)s::bigint
        )
    ) AS lane
) AS waiting
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(stat.completed), 0) AS completed, coalesce(sum(stat.failed), 0) AS failed,
        coalesce(sum(stat.dead_lettered), 0) AS dead_lettered,
        (
            SELECT array_agg(slot.jobs ORDER BY slot.place)
            FROM (
                SELECT part.place, sum(part.jobs)::bigint AS jobs
                FROM queues_minutestat AS one
                CROSS JOIN unnest(one.run_histogram) WITH ORDINALITY AS part (jobs, place)
                WHERE one.queue_id = page.id AND one.minute > clock_timestamp() - interval '1 hour'
                GROUP BY part.place
            ) AS slot
        ) AS runs
    FROM queues_minutestat AS stat
    WHERE stat.queue_id = page.id AND stat.minute > clock_timestamp() - interval '1 hour'
) AS hour
LEFT JOIN running ON page.id = running.queue_id
-- Believed as long as by who submits: with no scheduler left to measure, a queue that was full must not stay so.
LEFT JOIN queues_depth AS depth ON page.id = depth.queue_id AND depth.measured_at > clock_timestamp() - interval '1 minute'
LEFT JOIN queues_gate AS gate ON page.id = gate.queue_id AND gate.shard = 0
ORDER BY CASE WHEN %(newer_than)s::uuid IS NULL THEN page.id END DESC, page.id;
