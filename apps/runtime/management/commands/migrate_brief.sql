-- Let no statement of this transaction wait long for a lock: everybody who comes after it would wait behind it.
SELECT set_config('lock_timeout', %(milliseconds)s::text, TRUE);
