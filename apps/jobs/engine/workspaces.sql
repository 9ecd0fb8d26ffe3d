-- Which of the folders that a worker keeps are not needed any more: those of jobs that are not live, and those of workflows
-- that are over. One with a dead letter is not: it may be replayed, and goes on from its files.
SELECT asked.id, asked.generation
FROM unnest(%(workflows)s::uuid [], %(generations)s::int []) AS asked (id, generation)
LEFT JOIN jobs_workflow AS workflow ON workflow.id = ANY(ARRAY[asked.id])
WHERE workflow.id IS NULL
   OR asked.generation < workflow.generation
   OR (
       NOT EXISTS (SELECT FROM jobs_job_live AS job WHERE job.workflow_id = asked.id)
       AND NOT EXISTS (SELECT FROM jobs_job_dead AS job WHERE job.workflow_id = asked.id)
   )
UNION ALL
SELECT asked.id, NULL
FROM unnest(%(jobs)s::uuid []) AS asked (id)
WHERE NOT EXISTS (SELECT FROM jobs_job_live AS job WHERE job.id = asked.id);
