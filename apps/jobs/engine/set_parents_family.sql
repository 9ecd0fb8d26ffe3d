-- If a job is among those that its new parents wait for, or waited: all of those, each with one that waits for it.
-- Settled ones count too: a replay may open them again, and must not find a circle. No rows: all is well.
-- The LIMITs keep each look to its index, however many edges are guessed.
WITH RECURSIVE above AS (
    SELECT asked.id FROM unnest(%(parents)s::uuid []) AS asked (id)
    UNION
    SELECT edge.parent_id
    FROM above
    CROSS JOIN LATERAL (
        SELECT tie.parent_id FROM jobs_dependency AS tie WHERE tie.child_id = above.id LIMIT 10000
    ) AS edge
    WHERE above.id <> %(job_id)s::uuid
)

SELECT edge.parent_id, (array_agg(above.id))[1]
FROM above
CROSS JOIN LATERAL (
    SELECT tie.parent_id FROM jobs_dependency AS tie WHERE tie.child_id = above.id LIMIT 10000
) AS edge
WHERE above.id <> %(job_id)s::uuid AND EXISTS (SELECT FROM above AS same WHERE same.id = %(job_id)s::uuid)
GROUP BY edge.parent_id;
