-- Hold the workflows that jobs are about to join, in id order: whoever pauses or cancels one waits, and then sees them.
-- All of it is of the locked rows: of another table, one that waited would see what was there before.
SELECT workflow.id, workflow.project_id, workflow.paused_at IS NOT NULL, workflow.cancelled_at IS NOT NULL,
    workflow.dedicated
FROM jobs_workflow AS workflow
WHERE workflow.id = ANY(%(ids)s::uuid [])
ORDER BY workflow.id
FOR SHARE;
