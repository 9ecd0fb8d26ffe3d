-- A reservation is over: its worker is there for everybody again.
WITH opened AS (
    UPDATE workers_session AS session
    SET reservation_id = NULL
    WHERE session.reservation_id = %(reservation_id)s::uuid
)

UPDATE workers_reservation AS reservation
SET state = 'released', released_at = clock_timestamp()
WHERE reservation.id = %(reservation_id)s::uuid AND reservation.state <> 'released'
RETURNING reservation.id;
