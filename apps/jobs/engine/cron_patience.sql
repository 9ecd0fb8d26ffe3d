-- Wait no longer than this for a lock, in this transaction: a job that a handler holds must not keep other schedules.
SELECT set_config('lock_timeout', '300ms', TRUE);
