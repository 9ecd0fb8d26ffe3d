-- Say whether a worker shall take no new work; its sessions hear of it at their next heartbeat.
UPDATE workers_worker AS worker
SET drained_at = CASE WHEN %(drain)s::boolean THEN coalesce(worker.drained_at, clock_timestamp()) END
WHERE worker.id = %(worker_id)s::uuid
RETURNING worker.id;
