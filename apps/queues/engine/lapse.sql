-- End the pauses whose time has come, of queues and of job types, and say so. Claims ended them by the clock already.
WITH due AS MATERIALIZED (
    SELECT queue.id, queue.project_id, queue.paused_until, queue.pause_reason
    FROM queues_queue AS queue
    WHERE queue.paused_until <= clock_timestamp()
    ORDER BY queue.id
    FOR NO KEY UPDATE SKIP LOCKED
),

resumed AS (
    UPDATE queues_queue AS queue
    SET paused_at = NULL, paused_until = NULL, paused_by = '', pause_reason = ''
    FROM due
    WHERE queue.id = due.id
    RETURNING queue.id
),

over AS MATERIALIZED (
    SELECT halt.id
    FROM queues_pausedtype AS halt
    WHERE halt.paused_until <= clock_timestamp()
    ORDER BY halt.id
    FOR NO KEY UPDATE SKIP LOCKED
),

freed AS (
    DELETE FROM queues_pausedtype AS halt
    USING over
    WHERE halt.id = over.id
    RETURNING halt.project_id, halt.type, halt.paused_until, halt.pause_reason
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, job_ids, data)
    SELECT due.project_id, due.id, 'queue.resumed', ARRAY[]::uuid [], jsonb_build_object('by', 'system')
    FROM due
    UNION ALL
    SELECT freed.project_id, NULL, 'type.resumed', ARRAY[]::uuid [], jsonb_build_object('by', 'system', 'type', freed.type)
    FROM freed
)

SELECT ended.project_id, project.organization_id, ended.queue_id, ended.type, ended.paused_until, ended.pause_reason
FROM (
    SELECT due.project_id, due.id AS queue_id, NULL AS type, due.paused_until, due.pause_reason
    FROM due
    INNER JOIN resumed ON due.id = resumed.id
    UNION ALL
    SELECT freed.project_id, NULL, freed.type, freed.paused_until, freed.pause_reason FROM freed
) AS ended
INNER JOIN accounts_project AS project ON ended.project_id = project.id;
