-- Drop dead letters for good; the ledger keeps their attempts until it is pruned, the log that they are gone.
-- They no longer depend on anybody: a parent that is replayed must not look for them.
WITH gone AS (
    DELETE FROM jobs_job_dead AS job
    WHERE job.id = ANY(%(ids)s::uuid [])
    RETURNING job.id, job.queue_id
),

untied AS (
    DELETE FROM jobs_dependency AS edge
    USING gone
    WHERE edge.child_id = gone.id
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, job_ids)
    SELECT queue.project_id, gone.queue_id, 'job.discarded', array_agg(gone.id)
    FROM gone
    INNER JOIN queues_queue AS queue ON gone.queue_id = queue.id
    GROUP BY queue.project_id, gone.queue_id
)

SELECT id FROM gone;
