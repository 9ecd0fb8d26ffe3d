-- Wait for the turn of each of these keys, in one order for all who ask; turns end with the transaction.
-- The next statement then sees all that was let through before.
SELECT pg_advisory_xact_lock(asked.line, asked.key)::text
FROM (
    SELECT DISTINCT hashtext('fencepost key' || pair.queue_id::text) AS line, hashtext(pair.key) AS key
    FROM unnest(%(queue_ids)s::uuid [], %(keys)s::text []) AS pair (queue_id, key)
    ORDER BY line, key
) AS asked;
