-- Finished jobs without an end, or without a ledger row for the last fence they ran under. A fence carries
-- its time, so runs older than the oldest ledger day are left out.
SELECT job.id::text
FROM jobs_job AS job
WHERE job.shelved_on IS NOT NULL
  AND (
      job.finished_at IS NULL
      OR (
          job.fence >= coalesce(
              (SELECT extract(EPOCH FROM date_trunc('day', min(old.finished_at), 'UTC')) * 1000000 FROM jobs_attempt AS old),
              1
          )
          AND NOT EXISTS (
              SELECT FROM jobs_attempt AS entry WHERE entry.job_id = job.id AND entry.fence = job.fence
          )
      )
  )
LIMIT %(limit)s;
