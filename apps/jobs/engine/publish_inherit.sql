-- What a stage of a workflow published goes where the stage went: its generation, and whom it is bound to.
UPDATE jobs_job_live AS job
SET
    generation = parent.generation,
    required_worker = CASE WHEN NOT made.anywhere THEN parent.required_worker END,
    assigned_worker = CASE WHEN NOT made.anywhere THEN parent.assigned_worker END,
    placement = CASE WHEN NOT made.anywhere THEN coalesce(job.placement, parent.placement) END
FROM unnest(%(ids)s::uuid [], %(parents)s::uuid [], %(anywhere)s::boolean []) AS made (id, parent_id, anywhere)
INNER JOIN jobs_job AS parent
    ON made.parent_id = parent.id AND parent.shelved_on BETWEEN %(since)s::date AND %(until)s::date
WHERE job.id = made.id
RETURNING job.id, job.placement;
