-- Hold the other parents of whatever these jobs took down with them, as far as they live, so that none ends
-- before a revived child waits for it. The next statement, with a new snapshot, says who is to be revived.
WITH RECURSIVE family AS (
    SELECT edge.child_id
    FROM jobs_dependency AS edge
    WHERE edge.parent_id = ANY(%(ids)s::uuid [])
    UNION
    SELECT edge.child_id
    FROM family
    INNER JOIN jobs_dependency AS edge ON family.child_id = edge.parent_id
    INNER JOIN jobs_job AS child ON family.child_id = child.id
    WHERE child.state = 'cancelled' AND child.reason = 'parent_failed'
),

held AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_live AS job
    WHERE job.id IN (
        SELECT edge.parent_id
        FROM family
        INNER JOIN jobs_job AS child ON family.child_id = child.id
        INNER JOIN jobs_dependency AS edge ON family.child_id = edge.child_id
        WHERE child.state = 'cancelled' AND child.reason = 'parent_failed'
    )
    ORDER BY job.id
    FOR NO KEY UPDATE
)

SELECT id FROM held;
