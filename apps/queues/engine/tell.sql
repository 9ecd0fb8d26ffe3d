-- Say that something happened to a queue, or to a job type of a project, but to no job.
INSERT INTO audit_outbox (project_id, queue_id, kind, job_ids, data)
VALUES (%(project_id)s::uuid, %(queue_id)s::uuid, %(kind)s::text, ARRAY[]::uuid [], %(data)s::text::jsonb)
RETURNING id;
