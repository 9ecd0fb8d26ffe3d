-- Hold some dead letters of a deleted queue, for discard.sql; their progress goes at once.
WITH old AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_dead AS job
    WHERE job.queue_id = %(queue_id)s::uuid
    ORDER BY job.id
    LIMIT %(limit)s
    FOR UPDATE OF job SKIP LOCKED
),

silenced AS (DELETE FROM jobs_progress AS progress USING old WHERE progress.job_id = old.id)

SELECT id FROM old;
