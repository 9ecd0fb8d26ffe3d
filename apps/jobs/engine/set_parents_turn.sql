-- Wait for the turn of a live job's project: who changes whom its jobs wait for does so one after the other, and the
-- next statement sees all edges that were written before. Turns end with the transaction.
SELECT queue.project_id, pg_advisory_xact_lock(hashtext('fencepost edges'), hashtext(queue.project_id::text))::text
FROM jobs_job_live AS job
INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
WHERE job.id = %(job_id)s::uuid;
