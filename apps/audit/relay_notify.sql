-- Tell those who follow these projects that there is something new: a hint, never an authority.
SELECT pg_notify('fencepost_events', %(projects)s::text);
