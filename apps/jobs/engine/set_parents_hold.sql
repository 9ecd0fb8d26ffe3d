-- Hold a job, and with it those of its project that it is to wait for and did not: none of them ends before its edge is
-- written. Those it waits for already are not held: who ends one of them comes for the job next.
SELECT
    job.id, job.queue_id, job.type, job.on_parent_failure,
    job.attempt > 0 OR job.approval ->> 'asked_at' IS NOT NULL AS has_run,
    ARRAY(
        SELECT edge.parent_id FROM jobs_dependency AS edge WHERE edge.child_id = job.id AND job.id = %(job_id)s::uuid
    ) AS parents
FROM jobs_job_live AS job
INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
WHERE job.id = ANY(%(ids)s::uuid [])
  AND queue.project_id = %(project_id)s::uuid
  AND NOT EXISTS (
      SELECT FROM jobs_dependency AS tie WHERE tie.parent_id = job.id AND tie.child_id = %(job_id)s::uuid
  )
ORDER BY job.id
FOR NO KEY UPDATE OF job;
