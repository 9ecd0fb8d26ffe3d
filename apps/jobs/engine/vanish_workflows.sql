-- Forget some workflows and batches of a deleted project; of a workflow its steps and what it published first.
WITH doomed AS MATERIALIZED (
    SELECT old.id FROM jobs_workflow AS old WHERE old.project_id = %(project_id)s::uuid ORDER BY old.id LIMIT %(limit)s
),

publications AS (
    DELETE FROM jobs_publication AS publication
    WHERE (publication.workflow_id, publication.key) IN (
        SELECT said.workflow_id, said.key
        FROM doomed
        INNER JOIN jobs_publication AS said ON doomed.id = said.workflow_id
        LIMIT %(limit)s
    )
    RETURNING publication.workflow_id
),

steps AS (
    DELETE FROM jobs_step AS step
    WHERE (step.workflow_id, step.name) IN (
        SELECT named.workflow_id, named.name
        FROM doomed
        INNER JOIN jobs_step AS named ON doomed.id = named.workflow_id
        LIMIT %(limit)s
    )
    RETURNING step.workflow_id
),

workflows AS (
    DELETE FROM jobs_workflow AS workflow
    WHERE workflow.id IN (SELECT doomed.id FROM doomed)
      AND NOT EXISTS (SELECT FROM jobs_publication AS said WHERE said.workflow_id = workflow.id)
      AND NOT EXISTS (SELECT FROM jobs_step AS named WHERE named.workflow_id = workflow.id)
    RETURNING workflow.id
),

batches AS (
    DELETE FROM jobs_batch AS batch
    WHERE batch.id = ANY(ARRAY(
        SELECT old.id FROM jobs_batch AS old WHERE old.project_id = %(project_id)s::uuid LIMIT %(limit)s
    ))
    RETURNING batch.id
)

SELECT
    (SELECT count(*) FROM publications) + (SELECT count(*) FROM steps) + (SELECT count(*) FROM workflows) + (SELECT count(*) FROM batches);
