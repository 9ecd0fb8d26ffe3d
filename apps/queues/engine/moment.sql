-- The number of this transaction: whatever has a lower one and has not ended may have begun before it.
SELECT pg_current_xact_id()::text::bigint;
