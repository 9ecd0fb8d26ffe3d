-- Remember parents whose children were too many for this transaction; wake_left.sql goes on with them.
INSERT INTO jobs_unwoken (parent_id)
SELECT * FROM unnest(%(parents)s::uuid [])
ON CONFLICT DO NOTHING
RETURNING parent_id;
