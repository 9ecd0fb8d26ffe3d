-- Be the only one who is handed a summary to put into words, until the transaction ends.
SELECT pg_try_advisory_xact_lock(hashtext('fencepost prose'));
