-- Whether this server takes writes: it is no standby, and nobody has set it to read only.
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off';
