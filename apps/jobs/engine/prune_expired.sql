-- Delete some of a day's jobs whose queues keep them no longer, with their ledger, edges and progress: as many as have so
-- many edges together, for one may wait for a thousand. Answers how many, and whether it came to a limit.
WITH old AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job AS job
    WHERE job.shelved_on = %(day)s::date
      AND job.queue_id = ANY(%(queues)s::uuid [])
      AND NOT EXISTS (
          SELECT
          FROM jobs_dependency AS edge
          INNER JOIN jobs_job_live AS child ON edge.child_id = child.id
          WHERE edge.parent_id = job.id
          OFFSET 0 -- row by row, until the limit: as a join it would read every live job
      )
    LIMIT %(limit)s
),

weighed AS (
    SELECT old.id, sum(ties.count) OVER (ORDER BY old.id) - ties.count AS before
    FROM old
    CROSS JOIN LATERAL (SELECT count(*) AS count FROM jobs_dependency AS edge WHERE edge.child_id = old.id) AS ties
),

gone AS (
    DELETE FROM jobs_job AS job
    WHERE job.shelved_on = %(day)s::date
      AND job.id = ANY(ARRAY(SELECT weighed.id FROM weighed WHERE weighed.before < %(edges)s))
    RETURNING job.id, job.created_at
),

unledgered AS (
    DELETE FROM jobs_attempt AS entry
    USING gone
    WHERE entry.job_id = gone.id AND entry.finished_at >= gone.created_at
      AND entry.finished_at < %(day)s::date + interval '2 days'
),

untied AS (DELETE FROM jobs_dependency AS edge USING gone WHERE edge.child_id = gone.id),

silenced AS (DELETE FROM jobs_progress AS progress USING gone WHERE progress.job_id = gone.id)

SELECT counted.gone, counted.old = %(limit)s OR counted.old > counted.gone
FROM (SELECT (SELECT count(*) FROM gone) AS gone, (SELECT count(*) FROM old) AS old) AS counted;
