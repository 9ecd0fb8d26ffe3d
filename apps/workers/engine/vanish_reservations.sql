-- End and forget some reservations of a deleted organization: a worker that others share is there for everybody again.
WITH gone AS (
    DELETE FROM workers_reservation AS reservation
    WHERE reservation.id = ANY(ARRAY(
        SELECT old.id
        FROM workers_reservation AS old
        WHERE old.organization_id = %(organization_id)s::uuid
        LIMIT %(limit)s
    ))
    RETURNING reservation.id, reservation.worker_id
),

opened AS (
    UPDATE workers_session AS session
    SET reservation_id = NULL
    FROM gone
    WHERE session.worker_id = gone.worker_id AND session.reservation_id = gone.id
)

SELECT count(*) FROM gone;
