-- Keys of which more run or may be claimed than their queue allows. What ran when a limit was lowered runs on, so only
-- a key counts of which one may still be claimed.
SELECT job.queue_id || '/' || job.concurrency_key
FROM jobs_job_live AS job
INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
WHERE job.concurrency_key IS NOT NULL AND NOT job.key_full AND job.state IN ('queued', 'running')
  AND queue.rerank_after IS NULL  -- else they are being counted anew
GROUP BY job.queue_id, job.concurrency_key, queue.max_per_key
HAVING count(*) > queue.max_per_key AND bool_or(job.state = 'queued')
LIMIT %(limit)s;
