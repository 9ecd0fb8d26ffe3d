-- Wait until no other claim of this session is under way; the turn ends with the transaction.
SELECT pg_advisory_xact_lock(hashtext('fencepost claim'), hashtext(%(session_id)s::uuid::text));
