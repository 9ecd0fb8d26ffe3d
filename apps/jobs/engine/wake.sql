-- Tell listening workers that these queues have something to do: a hint, never an authority.
SELECT pg_notify('fencepost_jobs', %(queues)s::text);
