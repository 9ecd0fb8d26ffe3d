-- Jobs that run on a worker which is bound to another workflow, and jobs of a bound workflow that run elsewhere.
SELECT job.id::text
FROM workers_reservation AS reservation
INNER JOIN workers_session AS session ON reservation.worker_id = session.worker_id
INNER JOIN jobs_job_live AS job ON session.id = job.session_id AND job.state = 'running'
WHERE reservation.state = 'bound' AND job.workflow_id IS DISTINCT FROM reservation.workflow_id
UNION ALL
SELECT job.id::text
FROM workers_reservation AS reservation
INNER JOIN jobs_job_live AS job ON reservation.workflow_id = job.workflow_id AND job.state = 'running'
INNER JOIN workers_session AS session ON job.session_id = session.id
WHERE reservation.state = 'bound' AND session.worker_id IS DISTINCT FROM reservation.worker_id
LIMIT %(limit)s;
