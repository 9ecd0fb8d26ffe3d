-- Blocked jobs none of whose parents can still end.
SELECT job.id::text
FROM jobs_job_live AS job
WHERE (job.state = 'blocked' OR job.resume_state = 'blocked')
  AND NOT EXISTS (
      SELECT
      FROM jobs_dependency AS edge
      INNER JOIN jobs_job_live AS parent ON edge.parent_id = parent.id
      WHERE edge.child_id = job.id AND edge.settled_at IS NULL
  )
LIMIT %(limit)s;
