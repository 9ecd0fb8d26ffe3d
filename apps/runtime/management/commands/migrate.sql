-- Keep every other migrate waiting until this transaction ends: a lock of the transaction, not of the session,
-- so that it holds behind a transaction pooler too; and a server that ends idle transactions must not end this one.
SELECT
    set_config('idle_in_transaction_session_timeout', '0', TRUE),
    pg_advisory_xact_lock(hashtext('fencepost'), hashtext('migrate'));
