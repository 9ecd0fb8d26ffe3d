-- Tell the promoter, who sleeps until the next job is due, that one may be due before: a hint, as in wake.sql.
SELECT pg_notify('fencepost_due', ''), set_config('synchronous_commit', 'off', TRUE);
