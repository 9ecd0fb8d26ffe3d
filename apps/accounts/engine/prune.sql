-- Forget some Idempotency-Keys that are past their time; one that is being taken again is left alone.
WITH gone AS (
    DELETE FROM accounts_idempotency AS kept
    USING (
        SELECT old.scope_id, old.endpoint, old.key
        FROM accounts_idempotency AS old
        WHERE old.created_at < (SELECT clock_timestamp()) - %(hours)s::integer * interval '1 hour'
        ORDER BY old.created_at
        LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE kept.scope_id = old.scope_id AND kept.endpoint = old.endpoint AND kept.key = old.key
    RETURNING kept.key
)

SELECT count(*) FROM gone;
