-- For each queue with jobs on a day's shelf: whether they are past its retention, and whether a live child
-- still hangs on one of them. Those of a queue that was deleted are kept no longer. The queues are found by a loose scan of the day's index.
WITH RECURSIVE there AS (
    (
        SELECT job.queue_id FROM jobs_job AS job
        WHERE job.shelved_on = %(day)s::date ORDER BY job.queue_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT job.queue_id FROM jobs_job AS job
        WHERE job.shelved_on = %(day)s::date AND job.queue_id > there.queue_id ORDER BY job.queue_id LIMIT 1
    )
    FROM there
    WHERE there.queue_id IS NOT NULL
),

held AS MATERIALIZED (
    SELECT DISTINCT parent.queue_id
    FROM jobs_job_live AS child
    INNER JOIN jobs_dependency AS edge ON child.id = edge.child_id
    INNER JOIN jobs_job AS parent ON edge.parent_id = parent.id AND parent.shelved_on = %(day)s::date
)

SELECT
    there.queue_id,
    %(age)s::integer > CASE WHEN queue.id IS NULL THEN 0 ELSE coalesce(queue.retention_days, %(default_days)s::integer) END,
    there.queue_id IN (SELECT held.queue_id FROM held)
FROM there
LEFT JOIN queues_queue AS queue ON there.queue_id = queue.id
WHERE there.queue_id IS NOT NULL;
