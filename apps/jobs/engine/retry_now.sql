-- Let a job that waits for its time run now, or from the start one whose handler asked for approval. It keeps its place among its peers: the rank of this moment.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),

moved AS (
    UPDATE jobs_job_live AS job
    SET
        state = 'queued',
        key_full = job.concurrency_key IS NOT NULL,
        result = CASE WHEN job.state <> 'awaiting_approval' THEN job.result END,
        approval = CASE WHEN job.state <> 'awaiting_approval' THEN job.approval END,
        run_at = clock.now,
        rank = least(
            job.rank,
            (extract(EPOCH FROM clock.now) * 1000000)::bigint
            - job.priority * coalesce(job.ranked_aging, 4503599627370496)
        )
    FROM clock
    WHERE job.id = %(job_id)s::uuid
      AND (
          job.state IN ('scheduled', 'retry_wait')
          OR job.state = 'awaiting_approval' AND job.approval ->> 'asked_at' IS NOT NULL
      )
    RETURNING job.id, job.queue_id
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, moved.queue_id, 'job.retried_now', 'queued', ARRAY[moved.id]
    FROM moved
    INNER JOIN queues_queue AS queue ON moved.queue_id = queue.id
)

SELECT queue_id FROM moved;
