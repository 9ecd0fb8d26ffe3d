-- What there is to measure of each queue, the oldest queues first, `limit` of them at most. No more than `cap` waiting jobs
-- of a queue are looked at of each kind, beyond that the depth cache has counted; of dead letters no more than `dead_cap`.
WITH page AS MATERIALIZED (
    SELECT queue.*, project.slug AS project, organization.slug AS organization
    FROM queues_queue AS queue
    INNER JOIN accounts_project AS project ON queue.project_id = project.id
    INNER JOIN accounts_organization AS organization ON project.organization_id = organization.id
    WHERE queue.deleted_at IS NULL AND project.deleted_at IS NULL AND organization.deleted_at IS NULL
    ORDER BY queue.id
    LIMIT %(limit)s::integer
),

running AS MATERIALIZED (
    SELECT job.queue_id, count(*) AS jobs
    FROM jobs_job_live AS job
    WHERE job.state = 'running'
    GROUP BY job.queue_id
)

SELECT
    page.organization, page.project, page.name,
    CASE WHEN waiting.jobs >= %(cap)s::bigint THEN greatest(waiting.jobs, depth.queued) ELSE waiting.jobs END,
    coalesce(running.jobs, 0), dead.jobs,
    extract(
        EPOCH FROM clock_timestamp()
        - CASE WHEN waiting.jobs >= %(cap)s::bigint THEN least(waiting.oldest_at, depth.oldest_at) ELSE waiting.oldest_at END
    )::float8,
    page.max_concurrency,
    page.paused_at IS NOT NULL AND (page.paused_until IS NULL OR page.paused_until > clock_timestamp()),
    coalesce(gate.breaker, 'closed'),
    recent.completed, recent.failed, recent.dead_lettered, recent.lost
FROM page
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs, min(lane.run_at) AS oldest_at
    FROM (
        (
            SELECT job.run_at FROM jobs_job_live AS job
            WHERE job.queue_id = page.id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NULL
            ORDER BY job.type, job.rank  -- along the index, as the others
            LIMIT %(cap)s::bigint
        )
        UNION ALL
        (
            SELECT job.run_at FROM jobs_job_live AS job
            WHERE job.queue_id = page.id AND job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
            ORDER BY job.target, job.type, job.rank
            LIMIT %(cap)s::bigint
        )
        UNION ALL
        (
            SELECT job.run_at FROM jobs_job_live AS job
            WHERE job.queue_id = page.id AND job.state = 'queued' AND job.key_full
            ORDER BY job.concurrency_key, job.rank
            LIMIT %(cap)s::bigint
        )
    ) AS lane
) AS waiting
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (
        SELECT FROM jobs_job_dead AS job
        WHERE job.queue_id = page.id
        LIMIT %(dead_cap)s::bigint
    ) AS shelf
) AS dead
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(stat.completed), 0) AS completed, coalesce(sum(stat.failed), 0) AS failed,
        coalesce(sum(stat.dead_lettered), 0) AS dead_lettered, coalesce(sum(stat.lost), 0) AS lost
    FROM queues_minutestat AS stat
    WHERE stat.queue_id = page.id AND stat.minute > clock_timestamp() - interval '5 minutes'
) AS recent
LEFT JOIN running ON page.id = running.queue_id
-- Believed as long as by who submits: with no scheduler left to measure, a queue that was full must not stay so.
LEFT JOIN queues_depth AS depth ON page.id = depth.queue_id AND depth.measured_at > clock_timestamp() - interval '1 minute'
LEFT JOIN queues_gate AS gate ON page.id = gate.queue_id AND gate.shard = 0
ORDER BY page.id;
