-- The live worker of an organization (or of nobody's) that runs least and serves all these queues: one that nobody has
-- reserved or drains, and that serves no other organization. Its row is held; one that somebody else looks at is passed over.
SELECT worker.id
FROM workers_worker AS worker
INNER JOIN workers_session AS session ON worker.id = session.worker_id
WHERE session.ended_at IS NULL AND session.fenced_at IS NULL AND NOT session.draining
  AND session.lease_expires_at > clock_timestamp()
  AND session.reservation_id IS NULL
  AND worker.drained_at IS NULL
  AND (worker.organization_id IS NULL OR worker.organization_id = %(organization_id)s::uuid)
  AND (cardinality(session.queues) = 0 OR session.queues @> %(queues)s::uuid [])
  AND NOT EXISTS (
      SELECT
      FROM queues_queue AS queue
      INNER JOIN accounts_project AS project ON queue.project_id = project.id
      WHERE worker.organization_id IS NULL
        AND project.organization_id <> %(organization_id)s::uuid
        AND queue.deleted_at IS NULL
        AND (cardinality(session.queues) = 0 OR queue.id = ANY(session.queues))
  )
  AND NOT EXISTS (
      SELECT FROM workers_reservation AS reservation
      WHERE reservation.worker_id = worker.id AND reservation.state <> 'released'
  )
ORDER BY (
    SELECT count(*) FROM jobs_job_live AS job WHERE job.session_id = session.id AND job.state = 'running'
), worker.id
LIMIT 1
FOR NO KEY UPDATE OF worker SKIP LOCKED;
