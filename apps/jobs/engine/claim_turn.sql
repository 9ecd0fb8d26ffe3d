-- Wait until no other claim of this session is under way; the turn ends with the transaction. Its plan is kept,
-- and does not depend on how much waited when it was made.
SELECT
    pg_advisory_xact_lock(hashtext('fencepost claim'), hashtext(%(session_id)s::uuid::text)),
    set_config('plan_cache_mode', 'force_generic_plan', TRUE),
    set_config('enable_seqscan', 'off', TRUE),
    set_config('jit', 'off', TRUE);
