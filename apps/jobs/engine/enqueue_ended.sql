-- Look for parents that have ended on the shelves, from the day of the oldest id on.
SELECT job.id, job.state
FROM jobs_job AS job
INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
WHERE job.id = ANY(%(parents)s::uuid [])
  AND job.shelved_on >= %(since)s::date
  AND queue.project_id = (SELECT home.project_id FROM queues_queue AS home WHERE home.id = %(queue_id)s);
