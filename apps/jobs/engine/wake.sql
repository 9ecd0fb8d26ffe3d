-- Tell listening workers that these queues have something to do: a hint, never an authority. So nobody waits
-- until it is on the disk; else each would cost the server as much as a commit.
SELECT pg_notify('fencepost_jobs', %(queues)s::text), set_config('synchronous_commit', 'off', TRUE);
