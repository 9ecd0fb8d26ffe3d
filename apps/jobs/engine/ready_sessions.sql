-- Which of these sessions have room and something queued that waits for them, and in which of their queues; without a
-- session, those of their queues with something that stays with whoever takes it first. A loose walk as in ready_aimed.sql.
WITH RECURSIVE busy AS (
    (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL
        ORDER BY job.queue_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL AND job.queue_id > busy.queue_id
        ORDER BY job.queue_id LIMIT 1
    )
    FROM busy
    WHERE busy.queue_id IS NOT NULL
),

holder AS MATERIALIZED (
    SELECT session.id, session.queues, session.types, coalesce(session.reservation_id, session.worker_id) AS target
    FROM workers_session AS session
    WHERE session.id = ANY(%(sessions)s::uuid [])
      AND session.concurrency > (
          SELECT count(*) FROM jobs_job_live AS job WHERE job.session_id = session.id AND job.state = 'running'
      )
),

asked AS MATERIALIZED (
    SELECT busy.queue_id, holder.id AS session_id, holder.target, holder.types
    FROM busy
    INNER JOIN holder ON busy.queue_id = ANY(holder.queues)
)

SELECT asked.queue_id, asked.session_id
FROM asked
WHERE EXISTS (
    SELECT FROM jobs_job_live AS job
    WHERE job.queue_id = asked.queue_id AND job.target = asked.target AND job.target IS NOT NULL
      AND job.type = ANY(asked.types) AND job.state = 'queued' AND NOT job.key_full
)
UNION ALL
SELECT served.queue_id, NULL
FROM (SELECT DISTINCT asked.queue_id FROM asked) AS served
WHERE EXISTS (
    SELECT FROM jobs_job_live AS job
    WHERE job.queue_id = served.queue_id AND job.target IS NOT NULL AND job.target = ANY(ARRAY[
        uuid '00000000-0000-0000-0000-000000000001', uuid '00000000-0000-0000-0000-000000000002'
    ])
      AND job.state = 'queued' AND NOT job.key_full
);
