-- Note on a job that awaits approval who refuses it and why. Its end is the next statement's (shelve.sql).
UPDATE jobs_job_live AS job
SET
    approval = coalesce(job.approval, '{}') || jsonb_build_object(
        'decision', 'rejected', 'at', clock_timestamp(), 'by', %(by)s::text, 'note', %(note)s::text
    )
WHERE job.id = %(job_id)s::uuid AND job.state = 'awaiting_approval'
RETURNING job.id;
