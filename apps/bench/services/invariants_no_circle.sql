-- Who still waits for whom among live jobs; whoever calls looks for circles.
SELECT edge.child_id::text, edge.parent_id::text
FROM jobs_dependency AS edge
INNER JOIN jobs_job_live AS child ON edge.child_id = child.id
INNER JOIN jobs_job_live AS parent ON edge.parent_id = parent.id
WHERE edge.settled_at IS NULL;
