-- One queue, if somebody may reach it: with its project, their role there and its depth if that was measured lately. What
-- apps/queues/selectors.py says of every queue, in a statement that need not be made anew for each job that is submitted.
SELECT
    queue.id,
    queue.project_id,
    queue.allowed_types,
    queue.max_depth,
    project.organization_id,
    member.role,
    CASE WHEN depth.measured_at > statement_timestamp() - %(believed)s::interval THEN depth.queued END
FROM queues_queue AS queue
INNER JOIN accounts_project AS project ON queue.project_id = project.id
INNER JOIN accounts_membership AS member ON project.organization_id = member.organization_id
LEFT JOIN queues_depth AS depth ON queue.id = depth.queue_id
WHERE queue.id = %(queue_id)s::uuid
  AND queue.deleted_at IS NULL
  AND project.deleted_at IS NULL
  AND member.user_id = %(user_id)s::uuid
  AND (%(organization_id)s::uuid IS NULL OR project.organization_id = %(organization_id)s::uuid)
  AND (%(project_id)s::uuid IS NULL OR project.id = %(project_id)s::uuid);
