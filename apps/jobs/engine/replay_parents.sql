-- Hold the other parents of whatever these jobs took down with them, as far as they live, so that none ends
-- before a revived child waits for it. The LIMITs keep each look to its index, however many are guessed.
-- The next statement, with a new snapshot, says who is to be revived.
WITH RECURSIVE family AS (
    SELECT edge.child_id
    FROM jobs_dependency AS edge
    WHERE edge.parent_id = ANY(%(ids)s::uuid [])
    UNION
    SELECT edge.child_id
    FROM family
    INNER JOIN jobs_dependency AS edge ON family.child_id = edge.parent_id
    CROSS JOIN LATERAL (SELECT job.state, job.reason FROM jobs_job AS job WHERE job.id = family.child_id LIMIT 1) AS child
    WHERE child.state = 'cancelled' AND child.reason = 'parent_failed'
),

held AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_live AS job
    WHERE job.id IN (
        SELECT edge.parent_id
        FROM family
        CROSS JOIN LATERAL (SELECT job.state, job.reason FROM jobs_job AS job WHERE job.id = family.child_id LIMIT 1) AS child
        CROSS JOIN LATERAL (
            SELECT tie.parent_id FROM jobs_dependency AS tie WHERE tie.child_id = family.child_id LIMIT 10000
        ) AS edge
        WHERE child.state = 'cancelled' AND child.reason = 'parent_failed'
    )
    ORDER BY job.id
    FOR NO KEY UPDATE
)

SELECT id FROM held;
