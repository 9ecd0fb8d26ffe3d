-- Close a worker to everything but one reservation; the caller holds the worker's row, so that no boot is missed. What a
-- claim has taken that did not see it yet is waited for: the reservation opens when every transaction older than this has
-- ended (apps/jobs/engine/reservable.sql).
WITH closed AS (
    UPDATE workers_session AS session
    SET reservation_id = %(reservation_id)s::uuid
    WHERE session.worker_id = %(worker_id)s::uuid AND session.ended_at IS NULL AND session.fenced_at IS NULL
)

UPDATE workers_reservation AS reservation
SET worker_id = %(worker_id)s::uuid, opens_after = pg_current_xact_id()::text::bigint
WHERE reservation.id = %(reservation_id)s::uuid
RETURNING reservation.id;
