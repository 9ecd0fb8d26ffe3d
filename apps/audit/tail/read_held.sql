-- What the log holds of a project: the last number given out, the oldest still kept, and whose history it is.
SELECT
    coalesce(head.seq, 0),
    coalesce(
        (
            SELECT event.first_seq FROM audit_event AS event
            WHERE event.project_id = %(project_id)s::uuid
            ORDER BY event.last_seq
            LIMIT 1
        ),
        coalesce(head.seq, 0) + 1
    ),
    left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM (SELECT 1) AS one
LEFT JOIN audit_head AS head ON head.project_id = %(project_id)s::uuid;
