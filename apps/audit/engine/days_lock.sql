-- One hand at a time on the days, and nobody waits for a lock longer than others can bear.
SELECT
    set_config('lock_timeout', '300ms', TRUE),
    pg_advisory_xact_lock(hashtext('fencepost'), hashtext('days'));
