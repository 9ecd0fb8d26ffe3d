-- Hold the parents that still live, so that none ends before its child's edge is written, and flag them.
-- A parent of another project does not exist for this child.
WITH held AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_live AS job
    INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
    WHERE job.id = ANY(%(parents)s::uuid [])
      AND queue.project_id = (SELECT home.project_id FROM queues_queue AS home WHERE home.id = %(queue_id)s)
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
)

UPDATE jobs_job_live AS job
SET has_dependents = TRUE
FROM held
WHERE job.id = held.id
RETURNING job.id, job.state;
