-- How far the numbers of these projects have come, and whose history it is.
SELECT head.project_id, head.seq, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM audit_head AS head
WHERE head.project_id = ANY(%(projects)s::uuid []);
