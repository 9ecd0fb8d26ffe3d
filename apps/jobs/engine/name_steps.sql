-- Keep what a workflow calls its jobs.
INSERT INTO jobs_step (workflow_id, name, job_id)
SELECT %(workflow_id)s::uuid, step.name, step.job_id
FROM unnest(%(names)s::text [], string_to_array(%(ids)s::text, ' ')::uuid []) AS step (name, job_id)
RETURNING job_id;
