-- Batches that were followed while a job of theirs had not ended (a replay has a later generation), and jobs that follow
-- more than one.
(
    SELECT DISTINCT batch.id
    FROM jobs_batch AS batch
    INNER JOIN jobs_job_live AS job ON batch.id = job.batch_id
    WHERE batch.completed_at IS NOT NULL AND job.generation = 1
    LIMIT %(limit)s
)
UNION ALL
(
    SELECT batch.on_complete_job
    FROM jobs_batch AS batch
    WHERE batch.on_complete_job IS NOT NULL
    GROUP BY batch.on_complete_job
    HAVING count(*) > 1 OR bool_or(batch.completed_at IS NULL)
    LIMIT %(limit)s
);
