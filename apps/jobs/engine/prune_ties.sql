-- Before a day is dropped: delete some of the edges that lead to its jobs, and of their progress.
WITH edges AS (
    DELETE FROM jobs_dependency AS edge
    WHERE (edge.parent_id, edge.child_id) IN (
        SELECT tie.parent_id, tie.child_id
        FROM jobs_dependency AS tie
        INNER JOIN jobs_job AS job ON tie.child_id = job.id AND job.shelved_on = %(day)s::date
        LIMIT %(limit)s
    )
    RETURNING edge.child_id
),

silenced AS (
    DELETE FROM jobs_progress AS progress
    WHERE progress.job_id IN (
        SELECT told.job_id
        FROM jobs_progress AS told
        INNER JOIN jobs_job AS job ON told.job_id = job.id AND job.shelved_on = %(day)s::date
        LIMIT %(limit)s
    )
    RETURNING progress.job_id
)

SELECT greatest((SELECT count(*) FROM edges), (SELECT count(*) FROM silenced));
