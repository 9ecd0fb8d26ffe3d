-- Live jobs that another waits for, and that do not say that they have dependents: their end would wake nobody.
SELECT job.id::text
FROM jobs_job_live AS job
WHERE NOT job.has_dependents
  AND EXISTS (
      SELECT
      FROM jobs_dependency AS edge
      INNER JOIN jobs_job_live AS child ON edge.child_id = child.id
      WHERE edge.parent_id = job.id AND edge.settled_at IS NULL
  )
LIMIT %(limit)s;
