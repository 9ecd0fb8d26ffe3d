-- Forget some batches of a deleted queue, so that it does not take too many along.
WITH gone AS (
    DELETE FROM jobs_batch AS batch
    WHERE batch.id = ANY(ARRAY(
        SELECT old.id FROM jobs_batch AS old WHERE old.queue_id = %(queue_id)s::uuid LIMIT %(limit)s
    ))
    RETURNING batch.id
)

SELECT count(*) FROM gone;
