-- Find or make a worker by its name and hold its row, so that two boots of one name take turns.
INSERT INTO workers_worker AS worker (id, uid, organization_id, created_at)
VALUES (%(id)s::uuid, %(uid)s::text, %(organization_id)s::uuid, clock_timestamp())
ON CONFLICT (uid) DO UPDATE SET uid = excluded.uid
RETURNING worker.id, worker.organization_id;
