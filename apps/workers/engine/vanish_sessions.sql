-- Forget some sessions of a deleted organization's workers: as long as there is one, the worker cannot go.
WITH gone AS (
    DELETE FROM workers_session AS session
    WHERE session.id = ANY(ARRAY(
        SELECT old.id
        FROM workers_worker AS worker
        INNER JOIN workers_session AS old ON worker.id = old.worker_id
        WHERE worker.organization_id = %(organization_id)s::uuid
        LIMIT %(limit)s
    ))
    RETURNING session.id
)

SELECT count(*) FROM gone;
