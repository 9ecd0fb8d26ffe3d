-- The queues a worker serves: those named organization/project/queue, or all when none is named.
SELECT queue.id, organization.slug || '/' || project.slug || '/' || queue.name, queue.weight
FROM queues_queue AS queue
INNER JOIN accounts_project AS project ON queue.project_id = project.id
INNER JOIN accounts_organization AS organization ON project.organization_id = organization.id
WHERE queue.deleted_at IS NULL
  AND (
      cardinality(%(names)s::text []) = 0
      OR organization.slug || '/' || project.slug || '/' || queue.name = ANY(%(names)s::text [])
  );
