-- Remember how far the ledger has been summed up for good, and when that was; a span that is not the last is no turn.
INSERT INTO jobs_rollup AS mark (id, settled_at, rolled_at)
VALUES (
    1, least(%(ends)s::timestamptz, %(settled_at)s::timestamptz),
    CASE WHEN %(ends)s::timestamptz >= clock_timestamp() THEN clock_timestamp() ELSE %(ends)s::timestamptz - interval '1 hour' END
)
ON CONFLICT (id) DO UPDATE SET settled_at = excluded.settled_at, rolled_at = excluded.rolled_at
RETURNING mark.settled_at;
