-- Of jobs that ended, those on which others wait outside of the deleted queues. What waits inside ends by itself.
SELECT parent.id
FROM unnest(%(parents)s::uuid []) AS parent (id)
WHERE EXISTS (
    SELECT
    FROM jobs_dependency AS edge
    INNER JOIN jobs_job_live AS child ON edge.child_id = child.id
    WHERE edge.parent_id = parent.id AND edge.settled_at IS NULL AND child.queue_id <> ALL(%(queues)s::uuid [])
    OFFSET 0 -- row by row: as a join it would read every live job
);
