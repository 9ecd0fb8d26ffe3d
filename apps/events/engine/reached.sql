-- What jobs have said last of their progress, and in which attempt.
SELECT said.job_id, said.attempt, said.stage, said.done, said.total, to_timestamp(said.fence / 1000000.0)
FROM jobs_progress AS said
WHERE said.job_id = ANY(%(ids)s::uuid []);
