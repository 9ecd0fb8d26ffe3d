-- Walk along some live jobs, and hold those of deleted queues: what waits is left to the next statement (shelve.sql),
-- what runs is asked to stop. By id, for nothing else leads from a queue to its live jobs; nobody is waited for.
WITH span AS MATERIALIZED (
    SELECT job.id, job.queue_id
    FROM jobs_job_live AS job
    WHERE job.id > %(after)s::uuid
    ORDER BY job.id
    LIMIT %(limit)s
),

condemned AS MATERIALIZED (
    SELECT span.id, span.queue_id FROM span WHERE span.queue_id = ANY(%(queues)s::uuid [])
),

held AS MATERIALIZED (
    SELECT job.id, job.queue_id, job.state, job.attempt, job.cancel_requested_at
    FROM condemned
    INNER JOIN jobs_job_live AS job ON job.id = ANY(ARRAY[condemned.id])
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

requested AS (
    UPDATE jobs_job_live AS job
    SET cancel_requested_at = clock_timestamp()
    FROM held
    WHERE job.id = ANY(ARRAY[held.id]) AND held.state = 'running' AND held.cancel_requested_at IS NULL
    RETURNING job.id, job.queue_id, job.attempt
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, attempts)
    SELECT
        queue.project_id, requested.queue_id, 'job.cancel_requested', 'running',
        array_agg(requested.id ORDER BY requested.id), array_agg(requested.attempt ORDER BY requested.id)
    FROM requested
    INNER JOIN queues_queue AS queue ON requested.queue_id = queue.id
    GROUP BY queue.project_id, requested.queue_id
)

SELECT
    (SELECT span.id FROM span ORDER BY span.id DESC LIMIT 1),
    (SELECT count(*) FROM span),
    ARRAY(SELECT DISTINCT condemned.queue_id FROM condemned),
    ARRAY(SELECT held.id FROM held WHERE held.state <> 'running' ORDER BY held.id);
