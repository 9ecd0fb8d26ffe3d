-- Take parents from those whose children one transaction could not wake; which has still some left says so again. One that
-- was replayed meanwhile has not ended.
WITH taken AS MATERIALIZED (
    SELECT left_over.parent_id FROM jobs_unwoken AS left_over ORDER BY left_over.parent_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
),

gone AS (
    DELETE FROM jobs_unwoken AS left_over USING taken WHERE left_over.parent_id = taken.parent_id RETURNING left_over.parent_id
)

SELECT gone.parent_id, job.state
FROM gone
INNER JOIN jobs_job AS job ON gone.parent_id = job.id
WHERE job.state IN ('completed', 'dead_letter', 'cancelled');
