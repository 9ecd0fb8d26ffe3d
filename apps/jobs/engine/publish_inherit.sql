-- What a stage of a workflow published goes where the stage went: its generation, and whom it is bound to.
UPDATE jobs_job_live AS job
SET
    generation = parent.generation,
    required_worker = parent.required_worker,
    assigned_worker = parent.assigned_worker,
    placement = parent.placement,
    reservation_generation = parent.reservation_generation
FROM unnest(%(ids)s::uuid [], %(parents)s::uuid []) AS made (id, parent_id)
INNER JOIN jobs_job AS parent
    ON made.parent_id = parent.id AND parent.shelved_on BETWEEN %(since)s::date AND %(until)s::date
WHERE job.id = made.id
RETURNING job.id;
