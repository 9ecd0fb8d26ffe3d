-- Change the priority of waiting jobs. A rank shifts by the ageing its row was ranked with, so that it is what it
-- would be had the job been submitted so, and a place given by hand moves along.
WITH held AS MATERIALIZED (
    SELECT job.id, job.priority
    FROM jobs_job_live AS job
    WHERE job.id = ANY(%(ids)s::uuid []) AND job.state <> 'running'
    ORDER BY job.id
    FOR NO KEY UPDATE
),

changed AS (
    UPDATE jobs_job_live AS job
    SET
        priority = %(priority)s::smallint,
        -- in numeric and bounded: a job put first by hand may already stand where the most urgent do
        rank = least(
            greatest(
                job.rank
                - (%(priority)s::smallint - job.priority)::numeric * coalesce(job.ranked_aging, 4503599627370496),
                -9200000000000000000
            ),
            9200000000000000000
        )::bigint
    FROM held
    WHERE job.id = ANY(ARRAY[held.id])
    RETURNING job.id, job.queue_id, job.state, held.priority AS before
),

told AS (
    INSERT INTO audit_outbox (project_id, queue_id, kind, state, job_ids, data)
    SELECT
        queue.project_id, changed.queue_id, 'job.priority_changed', changed.state, array_agg(changed.id),
        jsonb_build_object('priority', %(priority)s::smallint)
    FROM changed
    INNER JOIN queues_queue AS queue ON changed.queue_id = queue.id
    GROUP BY queue.project_id, changed.queue_id, changed.state
)

SELECT id, queue_id, before FROM changed;
