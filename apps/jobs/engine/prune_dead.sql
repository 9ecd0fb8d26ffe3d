-- Hold some dead letters that their queue keeps no longer, for discard.sql; their edges and progress go at once.
WITH old AS MATERIALIZED (
    SELECT job.id
    FROM jobs_job_dead AS job
    LEFT JOIN queues_queue AS queue ON job.queue_id = queue.id
    WHERE job.finished_at < clock_timestamp()
    - coalesce(queue.dead_letter_retention_days, %(default_days)s::integer) * interval '1 day'
    ORDER BY job.id
    LIMIT %(limit)s
    FOR UPDATE OF job SKIP LOCKED
),

untied AS (DELETE FROM jobs_dependency AS edge USING old WHERE edge.child_id = old.id),

silenced AS (DELETE FROM jobs_progress AS progress USING old WHERE progress.job_id = old.id)

SELECT id FROM old;
