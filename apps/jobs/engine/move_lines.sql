-- Wait for the turns of the lines that a workflow's jobs stand in (move_turn.sql), in one order for all who ask.
SELECT pg_advisory_xact_lock(hashtext('fencepost line'), hashtext(line.queue_id::text))::text
FROM (
    SELECT DISTINCT job.queue_id
    FROM jobs_job_live AS job
    WHERE job.workflow_id = %(workflow_id)s::uuid
    ORDER BY job.queue_id
) AS line;
