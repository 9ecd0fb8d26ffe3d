-- The generation of a workflow, which its folders are named after.
SELECT workflow.generation FROM jobs_workflow AS workflow WHERE workflow.id = %(workflow_id)s::uuid;
