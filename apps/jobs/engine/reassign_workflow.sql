-- Give a workflow to another worker, or (NULL) to the first that takes one of its jobs. The row stays held: nobody binds
-- it, and no job joins it, until the transaction ends. Whoever calls says next whom its jobs wait for (aim.sql).
WITH held AS MATERIALIZED (
    SELECT workflow.id, coalesce(workflow.required_worker, workflow.assigned_worker) AS worker_id
    FROM jobs_workflow AS workflow
    WHERE workflow.id = %(workflow_id)s::uuid
    FOR NO KEY UPDATE
),

reassigned AS (
    UPDATE jobs_workflow AS workflow
    SET required_worker = %(worker_id)s::uuid, assigned_worker = NULL
    FROM held
    WHERE workflow.id = held.id
)

SELECT (SELECT worker.uid FROM workers_worker AS worker WHERE worker.id = held.worker_id) FROM held;
