-- The first batch after one of those that a job is to follow, all of whose jobs have ended; held, and passed over by
-- everybody else.
SELECT batch.id
FROM jobs_batch AS batch
WHERE batch.completed_at IS NULL AND batch.on_complete IS NOT NULL
  AND batch.id > %(after)s::uuid
  AND NOT EXISTS (SELECT FROM jobs_job_live AS job WHERE job.batch_id = batch.id)
ORDER BY batch.id
LIMIT 1
FOR NO KEY UPDATE OF batch SKIP LOCKED;
