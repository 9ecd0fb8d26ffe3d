-- Start a session of a worker: one boot. Every earlier session of the same name is fenced at once.
-- Runs after register_worker.sql, which has made the worker's row and holds it.
WITH fenced AS (
    UPDATE workers_session AS session
    SET fenced_at = clock_timestamp()
    FROM (
        SELECT old.id FROM workers_session AS old
        WHERE old.worker_id = %(worker_id)s::uuid AND old.ended_at IS NULL AND old.fenced_at IS NULL
        ORDER BY old.id
        FOR NO KEY UPDATE
    ) AS earlier
    WHERE session.id = earlier.id
    RETURNING session.id
),

started AS (
    INSERT INTO workers_session (
        id, worker_id, lease_seconds, lease_expires_at, heartbeat_at, started_at, concurrency, hostname, pid, version,
        queues, types, pools, capabilities, sample, draining, fenced_writes, reservation_id
    )
    SELECT
        %(session_id)s::uuid, %(worker_id)s::uuid, %(lease_seconds)s::float8,
        clock_timestamp() + %(lease_seconds)s::float8 * interval '1 second', clock_timestamp(), clock_timestamp(),
        %(concurrency)s::int, %(hostname)s::text, %(pid)s::int, %(version)s::text, %(queues)s::uuid [],
        %(types)s::text [], %(pools)s::jsonb, %(capabilities)s::jsonb, %(sample)s::jsonb, FALSE, 0,
        (
            SELECT reservation.id FROM workers_reservation AS reservation
            WHERE reservation.worker_id = %(worker_id)s::uuid AND reservation.state <> 'released'
        )
    RETURNING id
)

SELECT started.id, (SELECT count(*) FROM fenced) FROM started;
