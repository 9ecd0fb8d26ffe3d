-- A session ends by its own word: it holds nothing any more.
UPDATE workers_session AS session
SET ended_at = clock_timestamp()
WHERE session.id = %(session_id)s::uuid AND session.ended_at IS NULL
RETURNING session.id;
