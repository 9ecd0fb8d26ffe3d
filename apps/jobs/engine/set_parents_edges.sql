-- Untie a job from parents it is to wait for no longer, and tie it to new ones; an edge to one that is done is born settled.
WITH untied AS (
    DELETE FROM jobs_dependency AS edge
    WHERE edge.child_id = %(job_id)s::uuid AND edge.parent_id = ANY(%(gone)s::uuid [])
),

tied AS (
    INSERT INTO jobs_dependency (parent_id, child_id, settled_at)
    SELECT edge.parent_id, %(job_id)s::uuid, CASE WHEN edge.settled THEN clock_timestamp() END
    FROM unnest(%(parents)s::uuid [], %(settled)s::boolean []) AS edge (parent_id, settled)
    ORDER BY edge.parent_id
    RETURNING parent_id
)

SELECT count(*) FROM tied;
