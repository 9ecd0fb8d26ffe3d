-- What running jobs of these projects have said of their progress since a moment.
SELECT queue.project_id, job.queue_id, job.id, job.attempt, said.stage, said.done, said.total, said.note, said.at
FROM jobs_job_live AS job
INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
INNER JOIN jobs_progress AS said ON job.id = said.job_id AND job.fence = said.fence
WHERE job.state = 'running'
  AND queue.project_id = ANY(%(projects)s::uuid [])
  AND said.at > %(since)s::timestamptz
ORDER BY said.at
LIMIT %(limit)s;
