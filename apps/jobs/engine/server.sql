-- Which server this is (its timeline changes when a standby takes over), its clock, and the shortest lease held on it.
SELECT
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    clock_timestamp(),
    (
        SELECT min(session.lease_seconds)
        FROM workers_session AS session
        WHERE session.ended_at IS NULL AND session.fenced_at IS NULL
    );
