-- The next queues of a session that have something queued for its worker, from a cursor on: a loose walk over the lines
-- of all workers, one step per queue in which anything waits for one of them. One that names no queues serves them all.
WITH RECURSIVE busy AS (
    (
        SELECT job.queue_id FROM jobs_job_live AS job
        WHERE job.state = 'queued' AND NOT job.key_full AND job.target IS NOT NULL AND job.queue_id > %(after)s::uuid
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

aim AS MATERIALIZED (
    SELECT own.target, session.queues
    FROM workers_session AS session
    CROSS JOIN LATERAL unnest(
        CASE
            WHEN session.reservation_id IS NULL THEN ARRAY[
                session.worker_id,
                uuid '00000000-0000-0000-0000-000000000001', uuid '00000000-0000-0000-0000-000000000002'
            ]
            ELSE ARRAY[session.reservation_id]
        END
    ) AS own (target)
    WHERE session.id = %(session_id)s::uuid
)

SELECT busy.queue_id
FROM busy
WHERE busy.queue_id IS NOT NULL
  AND EXISTS (
      SELECT
      FROM aim
      CROSS JOIN LATERAL (
          SELECT 1 FROM jobs_job_live AS job
          WHERE job.queue_id = busy.queue_id AND job.target = aim.target AND job.target IS NOT NULL
            AND job.state = 'queued' AND NOT job.key_full
          LIMIT 1
      ) AS lane
      WHERE cardinality(aim.queues) = 0 OR busy.queue_id = ANY(aim.queues)
  )
LIMIT %(limit)s;
