-- Take an Idempotency-Key, unless another request holds it; one that has expired gives way.
-- The insert waits for a holder that has not committed yet, so the patience is set in the same statement.
WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', %(patience)s::text, TRUE) AS ms)

INSERT INTO accounts_idempotency AS held (scope_id, endpoint, key, request_hash, status, ids, created_at)
SELECT
    %(scope_id)s::uuid,
    %(endpoint)s::text,
    %(key)s::text,
    %(request_hash)s::bytea,
    201,
    %(ids)s::uuid [],
    clock_timestamp()
FROM patience
WHERE patience.ms IS NOT NULL
ON CONFLICT (scope_id, endpoint, key) DO UPDATE
SET request_hash = excluded.request_hash, ids = excluded.ids, created_at = excluded.created_at
WHERE held.created_at < clock_timestamp() - make_interval(hours => %(hours)s::integer)
RETURNING TRUE;
