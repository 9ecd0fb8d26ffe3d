-- How many jobs of each of these workflows are in which state, how many of those have ever run, and when the last of them ended.
SELECT job.workflow_id, job.state, count(*), count(*) FILTER (WHERE job.fence > 0), max(job.finished_at)
FROM jobs_job AS job
WHERE job.workflow_id = ANY(%(ids)s::uuid [])
  AND (job.shelved_on IS NULL OR job.shelved_on = date '9999-12-31' OR job.shelved_on >= %(since)s::date)
GROUP BY job.workflow_id, job.state;
