-- Live jobs whose count of parents to wait for is not the number of their parents that live.
SELECT job.id::text
FROM jobs_job_live AS job
LEFT JOIN (
    SELECT edge.child_id, count(*) AS parents
    FROM jobs_dependency AS edge
    INNER JOIN jobs_job_live AS parent ON edge.parent_id = parent.id
    WHERE edge.settled_at IS NULL
    GROUP BY edge.child_id
) AS waits ON job.id = waits.child_id
WHERE job.pending <> coalesce(waits.parents, 0)
LIMIT %(limit)s;
