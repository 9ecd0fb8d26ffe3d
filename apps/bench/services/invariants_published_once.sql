-- Publications that share a job, and those whose job belongs to another workflow.
SELECT publication.job_id
FROM jobs_publication AS publication
LEFT JOIN jobs_job AS job ON publication.job_id = job.id
GROUP BY publication.job_id
HAVING count(DISTINCT (publication.workflow_id, publication.key)) > 1
    OR bool_or(job.id IS NOT NULL AND job.workflow_id IS DISTINCT FROM publication.workflow_id)
LIMIT %(limit)s;
