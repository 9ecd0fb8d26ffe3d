-- Rank some live jobs by the ageing their queue has now: the part of their rank that their priority is worth changes,
-- what they waited and where they were put by hand stays. Those with a concurrency key wait to be let through again, by
-- the max_per_key of now (admit.sql). The walk goes along ids, so that no batch is long.
WITH span AS MATERIALIZED (
    SELECT
        job.id, job.queue_id, job.ranked_aging,
        job.state = 'queued' AND job.concurrency_key IS NOT NULL AND NOT job.key_full AS through
    FROM jobs_job_live AS job
    WHERE job.id > %(after)s::uuid
    ORDER BY job.id
    LIMIT %(limit)s
),

stale AS MATERIALIZED (
    SELECT span.id, queue.aging_seconds::bigint * 1000000 AS aging, queue.max_per_key IS NOT NULL AS by_key
    FROM span
    INNER JOIN queues_queue AS queue ON span.queue_id = queue.id
    WHERE queue.id = ANY(%(queues)s::uuid [])
      AND (
          span.ranked_aging IS DISTINCT FROM queue.aging_seconds::bigint * 1000000
          OR span.through AND queue.max_per_key IS NOT NULL
      )
),

held AS MATERIALIZED (
    SELECT job.id, stale.aging, stale.by_key
    FROM stale
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[stale.id])
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

changed AS (
    UPDATE jobs_job_live AS job
    SET
        ranked_aging = held.aging,
        key_full = job.key_full OR (held.by_key AND job.state = 'queued' AND job.concurrency_key IS NOT NULL),
        rank = least(
            greatest(
                job.rank + job.priority::numeric
                * (coalesce(job.ranked_aging, 4503599627370496) - coalesce(held.aging, 4503599627370496)),
                -9200000000000000000
            ),
            9200000000000000000
        )::bigint
    FROM held
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id
)

SELECT
    (SELECT span.id FROM span ORDER BY span.id DESC LIMIT 1),
    (SELECT count(*) FROM span),
    (SELECT count(*) FROM changed),
    (SELECT count(*) FROM stale) - (SELECT count(*) FROM changed);
