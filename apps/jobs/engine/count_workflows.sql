-- How many jobs of each of these workflows are in which state, and how many of those have ever run.
SELECT job.workflow_id, job.state, count(*), count(*) FILTER (WHERE job.fence > 0)
FROM jobs_job AS job
WHERE job.workflow_id = ANY(%(ids)s::uuid [])
  AND (job.shelved_on IS NULL OR job.shelved_on = date '9999-12-31' OR job.shelved_on >= %(since)s::date)
GROUP BY job.workflow_id, job.state;
