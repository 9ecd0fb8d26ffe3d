-- Events that leave a gap in their project's numbers or give one out twice, and heads that are not at the last.
WITH numbered AS (
    SELECT
        event.project_id, event.first_seq,
        lag(event.last_seq) OVER (PARTITION BY event.project_id ORDER BY event.last_seq, event.first_seq) AS before
    FROM audit_event AS event
),

ends AS (
    SELECT event.project_id, max(event.last_seq) AS last_seq FROM audit_event AS event GROUP BY event.project_id
)

(
    SELECT numbered.project_id || '/' || numbered.first_seq
    FROM numbered
    WHERE numbered.first_seq <> numbered.before + 1
    LIMIT %(limit)s
)
UNION ALL
(
    SELECT ends.project_id || '/head'
    FROM ends
    LEFT JOIN audit_head AS head ON ends.project_id = head.project_id
    WHERE ends.last_seq IS DISTINCT FROM head.seq
    LIMIT %(limit)s
);
