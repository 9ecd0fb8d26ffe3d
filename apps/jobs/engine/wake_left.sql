-- Parents that have ended and still have unsettled edges: what one transaction left of a very wide fan-out.
SELECT edge.parent_id, job.state
FROM (
    SELECT DISTINCT dependency.parent_id
    FROM jobs_dependency AS dependency
    WHERE dependency.settled_at IS NULL
      AND NOT EXISTS (SELECT FROM jobs_job_live AS live WHERE live.id = dependency.parent_id)
    LIMIT %(limit)s
) AS edge
INNER JOIN jobs_job AS job ON edge.parent_id = job.id
WHERE job.state IN ('completed', 'dead_letter', 'cancelled');
