-- Look through the newest jobs of some queues below an edge, so many of each queue and no more, for those that fit.
-- `edge` is where the look ended: the jobs below it were not all seen. NULL: there are no others.
WITH looked AS MATERIALIZED (
    SELECT asked.queue_id, shelf.id, shelf.state, shelf.type
    FROM unnest(%(queue_ids)s::uuid []) AS asked (queue_id)
    CROSS JOIN LATERAL (
        (
            SELECT job.id, job.state, job.type
            FROM jobs_job_live AS job
            WHERE %(live)s::boolean AND job.queue_id = asked.queue_id AND job.id < %(below)s::uuid
            ORDER BY job.id DESC
            LIMIT %(look)s::bigint
        )
        UNION ALL
        (
            SELECT job.id, job.state, job.type
            FROM jobs_job AS job
            WHERE (
                job.shelved_on BETWEEN %(since)s::date AND %(until)s::date
                OR (%(dead)s::boolean AND job.shelved_on = '9999-12-31')
            )
            AND job.queue_id = asked.queue_id
            AND job.id < %(below)s::uuid
            ORDER BY job.id DESC
            LIMIT %(look)s::bigint
        )
        ORDER BY id DESC
        LIMIT %(look)s::bigint
    ) AS shelf
),

-- A queue that gave as many as it may have has more: nothing below its last one was seen.
stops AS MATERIALIZED (
    SELECT DISTINCT ON (looked.queue_id)
        looked.id, count(*) OVER (PARTITION BY looked.queue_id) AS jobs
    FROM looked
    ORDER BY looked.queue_id, looked.id
),

stop AS MATERIALIZED (
    SELECT (
        SELECT stops.id
        FROM stops
        WHERE stops.jobs >= %(look)s::bigint
        ORDER BY stops.id DESC
        LIMIT 1
    ) AS edge
)

SELECT hit.id, stop.edge
FROM stop
LEFT JOIN LATERAL (
    SELECT looked.id
    FROM looked
    WHERE (stop.edge IS NULL OR looked.id >= stop.edge)
      AND (%(state)s::text IS NULL OR looked.state = %(state)s::text)
      AND (%(type)s::text IS NULL OR looked.type = %(type)s::text)
    ORDER BY looked.id DESC
    LIMIT %(limit)s::bigint
) AS hit ON TRUE
ORDER BY hit.id DESC;
