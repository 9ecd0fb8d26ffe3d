-- Tie the jobs of one call to each other. Each names its parents by their places in the call, counted from 0; half a
-- million edges are read in a third of the time that their ids would take.
WITH made AS MATERIALIZED (SELECT string_to_array(%(ids)s::text, ' ')::uuid [] AS ids),

tied AS (
    INSERT INTO jobs_dependency (parent_id, child_id)
    SELECT made.ids[parent.place + 1], made.ids[child.place]
    FROM made
    CROSS JOIN unnest(string_to_array(%(parents)s::text, ',')) WITH ORDINALITY AS child (parents, place)
    CROSS JOIN unnest(string_to_array(child.parents, ' ')::integer []) AS parent (place)
)

SELECT 1;
