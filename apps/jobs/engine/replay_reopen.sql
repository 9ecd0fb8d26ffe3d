-- Children that are still blocked, or paused while they were, wait again for the parents that were replayed.
WITH reopened AS (
    UPDATE jobs_dependency AS edge
    SET settled_at = NULL
    FROM (
        SELECT job.id FROM jobs_job_live AS job
        INNER JOIN jobs_dependency AS tie ON job.id = tie.child_id
        WHERE tie.parent_id = ANY(%(ids)s::uuid []) AND tie.settled_at IS NOT NULL
          AND (job.state = 'blocked' OR job.resume_state = 'blocked')
        ORDER BY job.id
        FOR NO KEY UPDATE OF job
    ) AS child
    WHERE edge.child_id = child.id AND edge.parent_id = ANY(%(ids)s::uuid []) AND edge.settled_at IS NOT NULL
    RETURNING edge.child_id
),

waits AS (SELECT reopened.child_id, count(*) AS parents FROM reopened GROUP BY reopened.child_id)

UPDATE jobs_job_live AS job
SET pending = job.pending + waits.parents
FROM waits
WHERE job.id = waits.child_id AND (job.state = 'blocked' OR job.resume_state = 'blocked')
RETURNING job.id;
