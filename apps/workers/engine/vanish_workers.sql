-- Forget some workers of a deleted organization whose sessions have gone.
WITH gone AS (
    DELETE FROM workers_worker AS worker
    WHERE worker.id = ANY(ARRAY(
        SELECT old.id
        FROM workers_worker AS old
        WHERE old.organization_id = %(organization_id)s::uuid
          AND NOT EXISTS (SELECT FROM workers_session AS session WHERE session.worker_id = old.id)
        LIMIT %(limit)s
    ))
    RETURNING worker.id
)

SELECT count(*) FROM gone;
