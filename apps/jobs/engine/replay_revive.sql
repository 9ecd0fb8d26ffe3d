-- Bring cancelled descendants back to the live shelf as blocked, waiting again for exactly the parents that live,
-- each other included. The caller holds those parents. One whose unique key is taken comes back without a state.
WITH reopened AS (
    UPDATE jobs_dependency AS edge
    SET settled_at = NULL
    WHERE edge.child_id = ANY(%(ids)s::uuid [])
      AND (
          edge.parent_id = ANY(%(ids)s::uuid [])
          OR edge.parent_id = ANY(ARRAY(
              SELECT parent.id
              FROM jobs_dependency AS tie
              INNER JOIN jobs_job_live AS parent ON tie.parent_id = parent.id
              WHERE tie.child_id = ANY(%(ids)s::uuid [])
          ))
      )
    RETURNING edge.child_id
),

waits AS MATERIALIZED (SELECT reopened.child_id, count(*) AS parents FROM reopened GROUP BY reopened.child_id),

taken AS (
    DELETE FROM jobs_job AS job
    USING waits
    WHERE job.id = waits.child_id AND job.id = ANY(%(ids)s::uuid [])
      AND job.state = 'cancelled' AND job.shelved_on >= %(since)s::date
    RETURNING
        job.id, job.queue_id, job.created_at, job.run_at, job.rank, job.ranked_aging, job.batch_id,
        job.workflow_id, job.retry_policy_id, job.schedule_id, job.submitted_by, job.required_worker,
        job.assigned_worker, job.timeout_ms, job.priority, job.max_attempts, job.max_losses, job.max_snoozes,
        job.generation + 1 AS generation, job.fence,
        -- as the edges say: some were made meanwhile (replay.sql)
        EXISTS (SELECT FROM jobs_dependency AS edge WHERE edge.parent_id = job.id) AS has_dependents,
        job.requires_approval, job.on_parent_failure, job.placement, job.type,
        job.unique_key, job.concurrency_key, job.request_id, job.payload, job.labels, waits.parents
),

placed AS (
    INSERT INTO jobs_job_live (
        id, queue_id, created_at, run_at, rank, ranked_aging, batch_id,
        workflow_id, retry_policy_id, schedule_id, submitted_by, required_worker,
        assigned_worker, timeout_ms, priority, max_attempts, max_losses, max_snoozes,
        generation, fence,
        has_dependents, requires_approval, on_parent_failure, placement, type,
        unique_key, concurrency_key, request_id, payload, labels, pending, state
    )
    SELECT taken.*, 'blocked'
    FROM taken
    ORDER BY taken.unique_key, taken.id
    ON CONFLICT (queue_id, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
    RETURNING id, queue_id, state
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids)
    SELECT queue.project_id, placed.queue_id, 'job.revived', 'blocked', array_agg(placed.id)
    FROM placed
    INNER JOIN queues_queue AS queue ON placed.queue_id = queue.id
    GROUP BY queue.project_id, placed.queue_id
)

SELECT taken.id, taken.queue_id, placed.state, taken.unique_key
FROM taken
LEFT JOIN placed ON taken.id = placed.id;
