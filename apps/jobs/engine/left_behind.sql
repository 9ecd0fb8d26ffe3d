-- The cancelled descendants that replaying these jobs would leave behind, each with its state on the shelves
-- (NULL where it was pruned), its workflow and its parents that failed. A descendant counts when a failed parent cancelled it.
WITH RECURSIVE family AS (
    SELECT edge.child_id, child.state, child.reason, child.workflow_id
    FROM jobs_dependency AS edge
    LEFT JOIN jobs_job AS child ON edge.child_id = child.id
    WHERE edge.parent_id = ANY(%(ids)s::uuid [])
    UNION
    SELECT edge.child_id, child.state, child.reason, child.workflow_id
    FROM family
    INNER JOIN jobs_dependency AS edge ON family.child_id = edge.parent_id
    LEFT JOIN jobs_job AS child ON edge.child_id = child.id
    WHERE family.state = 'cancelled' AND family.reason = 'parent_failed'
)

SELECT
    family.child_id, family.state, family.workflow_id,
    ARRAY(
        SELECT edge.parent_id
        FROM jobs_dependency AS edge
        INNER JOIN jobs_job AS parent ON edge.parent_id = parent.id
        WHERE edge.child_id = family.child_id AND parent.state IN ('dead_letter', 'cancelled')
    ) AS failed
FROM family
WHERE family.state IS NULL OR (family.state = 'cancelled' AND family.reason = 'parent_failed')
ORDER BY family.child_id;
