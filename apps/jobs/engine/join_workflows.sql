-- Hold the workflows that jobs are about to join, in id order: whoever pauses or cancels one waits, and then sees them.
SELECT workflow.id, workflow.project_id, workflow.paused_at IS NOT NULL, workflow.cancelled_at IS NOT NULL,
    EXISTS (
        SELECT FROM workers_reservation AS reservation
        WHERE reservation.workflow_id = workflow.id AND reservation.state IN ('pending', 'bound')
    )
FROM jobs_workflow AS workflow
WHERE workflow.id = ANY(%(ids)s::uuid [])
ORDER BY workflow.id
FOR SHARE;
