-- Which server this is: its timeline changes when a standby takes over.
SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8);
