-- Say which jobs of a workflow wait for another worker now, and which of its jobs still run on any but that one: the caller
-- has locked them all, so that none starts meanwhile.
WITH told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, job_ids, data)
    SELECT
        queue.project_id, job.queue_id, 'job.reassigned', array_agg(job.id ORDER BY job.id),
        jsonb_build_object(
            'workflow', %(workflow_id)s::uuid,
            'worker', (SELECT worker.uid FROM workers_worker AS worker WHERE worker.id = %(worker_id)s::uuid)
        )
    FROM jobs_job_live AS job
    INNER JOIN queues_queue AS queue ON job.queue_id = queue.id
    WHERE job.workflow_id = %(workflow_id)s::uuid AND job.placement = 'dispatch' AND job.state <> 'running'
    GROUP BY queue.project_id, job.queue_id
)

SELECT job.id
FROM jobs_job_live AS job
INNER JOIN workers_session AS session ON job.session_id = session.id
WHERE job.workflow_id = %(workflow_id)s::uuid AND job.placement = 'dispatch' AND job.state = 'running'
  AND session.worker_id IS DISTINCT FROM %(worker_id)s::uuid
ORDER BY job.id
LIMIT %(few)s::int;
