-- Forget some batches and workflows all of whose jobs have gone, what those workflows published, and what they called it.
WITH batches AS (
    DELETE FROM jobs_batch AS batch
    WHERE batch.id = ANY(ARRAY(
        SELECT old.id
        FROM jobs_batch AS old
        WHERE old.created_at < clock_timestamp() - %(days)s::integer * interval '1 day'
          AND NOT EXISTS (SELECT FROM jobs_job AS job WHERE job.batch_id = old.id)
        ORDER BY old.id
        LIMIT %(limit)s
    ))
    RETURNING batch.id
),

workflows AS (
    DELETE FROM jobs_workflow AS workflow
    WHERE workflow.id = ANY(ARRAY(
        SELECT old.id
        FROM jobs_workflow AS old
        WHERE old.created_at < clock_timestamp() - %(days)s::integer * interval '1 day'
          AND NOT EXISTS (SELECT FROM jobs_job AS job WHERE job.workflow_id = old.id)
        ORDER BY old.id
        LIMIT %(limit)s
    ))
    RETURNING workflow.id
),

publications AS (
    DELETE FROM jobs_publication AS publication USING workflows WHERE publication.workflow_id = workflows.id
),

steps AS (
    DELETE FROM jobs_step AS step USING workflows WHERE step.workflow_id = workflows.id
)

SELECT (SELECT count(*) FROM batches) + (SELECT count(*) FROM workflows);
