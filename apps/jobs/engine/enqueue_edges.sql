-- Tie children to their parents; an edge to a parent that is done is born settled.
WITH tied AS (
    INSERT INTO jobs_dependency (parent_id, child_id, settled_at)
    SELECT edge.parent_id, edge.child_id, CASE WHEN edge.settled THEN clock_timestamp() END
    FROM unnest(
        string_to_array(%(parents)s::text, ' ')::uuid [], string_to_array(%(children)s::text, ' ')::uuid [],
        %(settled)s::boolean []
    ) AS edge (parent_id, child_id, settled)
    ORDER BY edge.parent_id, edge.child_id
    RETURNING parent_id
)

SELECT count(*) FROM tied;
