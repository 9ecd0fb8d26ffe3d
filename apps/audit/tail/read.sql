-- The events after a number, as many as hold up to so many facts beyond it.
SELECT
    page.first_seq, page.last_seq, page.kind, page.queue_id, page.state, page.job_ids, page.attempts, page.errors,
    page.at, page.data
FROM (
    SELECT
        row_of.*,
        sum(row_of.last_seq - greatest(row_of.first_seq - 1, %(after)s::bigint)) OVER (ORDER BY row_of.last_seq)
        - (row_of.last_seq - greatest(row_of.first_seq - 1, %(after)s::bigint)) AS before
    FROM (
        SELECT event.*
        FROM audit_event AS event
        WHERE event.project_id = %(project_id)s::uuid
          AND event.last_seq > %(after)s::bigint
          AND (%(kind)s::text IS NULL OR event.kind = %(kind)s::text)
          AND (%(queue_id)s::uuid IS NULL OR event.queue_id = %(queue_id)s::uuid)
        ORDER BY event.last_seq
        LIMIT %(limit)s
    ) AS row_of
) AS page
WHERE page.before < %(limit)s
ORDER BY page.last_seq;
