-- Wait until nobody else is placing jobs by hand in the line this one stands in; the turn ends with the transaction.
-- It names the line, so that the next statement sees every move that was made before.
SELECT job.queue_id, pg_advisory_xact_lock(hashtext('fencepost line'), hashtext(job.queue_id::text))::text
FROM jobs_job_live AS job
WHERE job.id = %(job_id)s::uuid;
