-- Before a day is dropped: delete the edges that lead to some of its jobs, and their progress. Along their ids, so that
-- none is looked at again; as many jobs as have so many edges together, for one may wait for a thousand.
WITH span AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job AS job
    WHERE job.shelved_on = %(day)s::date AND job.id > %(after)s::uuid
    ORDER BY job.id
    LIMIT %(limit)s
),

weighed AS (
    SELECT span.id, sum(ties.count) OVER (ORDER BY span.id) - ties.count AS before
    FROM span
    CROSS JOIN LATERAL (SELECT count(*) AS count FROM jobs_dependency AS edge WHERE edge.child_id = span.id) AS ties
),

chosen AS MATERIALIZED (SELECT weighed.id FROM weighed WHERE weighed.before < %(edges)s),

untied AS (DELETE FROM jobs_dependency AS edge WHERE edge.child_id = ANY(ARRAY(SELECT chosen.id FROM chosen))),

silenced AS (DELETE FROM jobs_progress AS progress WHERE progress.job_id = ANY(ARRAY(SELECT chosen.id FROM chosen)))

SELECT chosen.id FROM chosen ORDER BY chosen.id DESC LIMIT 1;
