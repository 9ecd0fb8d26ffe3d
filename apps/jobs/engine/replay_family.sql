-- The cancelled descendants that replaying these jobs would leave behind, each with its state on the shelves:
-- NULL where it was pruned. A descendant counts when a failed parent cancelled it.
WITH RECURSIVE family AS (
    SELECT edge.parent_id, edge.child_id, child.state, child.reason, child.shelved_on
    FROM jobs_dependency AS edge
    LEFT JOIN jobs_job AS child ON edge.child_id = child.id
    WHERE edge.parent_id = ANY(%(ids)s::uuid [])
    UNION
    SELECT edge.parent_id, edge.child_id, child.state, child.reason, child.shelved_on
    FROM family
    INNER JOIN jobs_dependency AS edge ON family.child_id = edge.parent_id
    LEFT JOIN jobs_job AS child ON edge.child_id = child.id
    WHERE family.state = 'cancelled' AND family.reason = 'parent_failed'
)

SELECT DISTINCT family.child_id, family.state, root.roots
FROM family
CROSS JOIN LATERAL (SELECT array_agg(DISTINCT f.parent_id) AS roots FROM family AS f WHERE f.child_id = family.child_id) AS root
WHERE family.state IS NULL OR (family.state = 'cancelled' AND family.reason = 'parent_failed');
