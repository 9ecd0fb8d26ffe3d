-- One queue, if somebody may reach it: with its project, their role there and its depth if that was measured lately. What
-- apps/queues/selectors.py says of every queue, in a statement that need not be made anew for each job that is submitted.
-- By ids alone first: its plan is kept, and one made while there are few rows would else walk through all that stand.
WITH asked AS MATERIALIZED (
    SELECT
        queue.id,
        queue.project_id,
        queue.allowed_types,
        queue.max_depth,
        queue.deleted_at,
        project.organization_id,
        project.deleted_at AS project_deleted_at
    FROM queues_queue AS queue
    INNER JOIN accounts_project AS project ON queue.project_id = project.id
    WHERE queue.id = %(queue_id)s::uuid
)

SELECT
    asked.id,
    asked.project_id,
    asked.allowed_types,
    asked.max_depth,
    asked.organization_id,
    member.role,
    CASE WHEN depth.measured_at > statement_timestamp() - %(believed)s::interval THEN depth.queued END
FROM asked
INNER JOIN accounts_membership AS member ON asked.organization_id = member.organization_id
LEFT JOIN queues_depth AS depth ON asked.id = depth.queue_id
WHERE asked.deleted_at IS NULL
  AND asked.project_deleted_at IS NULL
  AND member.user_id = %(user_id)s::uuid
  AND (%(organization_id)s::uuid IS NULL OR asked.organization_id = %(organization_id)s::uuid)
  AND (%(project_id)s::uuid IS NULL OR asked.project_id = %(project_id)s::uuid);
