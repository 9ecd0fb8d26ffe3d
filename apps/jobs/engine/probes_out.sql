-- How many breakers are not closed, and how many of them wait for what a job comes to that tries.
SELECT count(*), count(gate.probe_job) FROM queues_gate AS gate WHERE gate.breaker <> 'closed';
