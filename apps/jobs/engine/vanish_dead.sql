-- Hold some dead letters of a deleted queue, for discard.sql; their progress goes at once. As many as
-- have so many edges together, for one may wait for a thousand.
WITH old AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_dead AS job
    WHERE job.queue_id = %(queue_id)s::uuid
    ORDER BY job.id
    LIMIT %(limit)s
    FOR UPDATE OF job SKIP LOCKED
),

weighed AS (
    SELECT old.id, sum(ties.count) OVER (ORDER BY old.id) - ties.count AS before
    FROM old
    CROSS JOIN LATERAL (SELECT count(*) AS count FROM jobs_dependency AS edge WHERE edge.child_id = old.id) AS ties
),

chosen AS MATERIALIZED (SELECT weighed.id FROM weighed WHERE weighed.before < %(edges)s),

silenced AS (DELETE FROM jobs_progress AS progress USING chosen WHERE progress.job_id = chosen.id)

SELECT chosen.id FROM chosen;
