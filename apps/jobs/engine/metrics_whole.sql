-- What there is to measure of the installation: queues, workers and their slots, and how far its loops are behind.
SELECT
    (
        SELECT count(*) FROM queues_queue AS queue
        INNER JOIN accounts_project AS project ON queue.project_id = project.id
        INNER JOIN accounts_organization AS organization ON project.organization_id = organization.id
        WHERE queue.deleted_at IS NULL AND project.deleted_at IS NULL AND organization.deleted_at IS NULL
    ),
    live.sessions, live.draining, live.slots,
    extract(EPOCH FROM clock_timestamp() - (SELECT fact.at FROM audit_outbox AS fact ORDER BY fact.id LIMIT 1))::float8,
    extract(EPOCH FROM clock_timestamp() - (SELECT mark.rolled_at FROM jobs_rollup AS mark WHERE mark.id = 1))::float8
FROM (
    SELECT
        count(*) FILTER (WHERE NOT seen.draining) AS sessions, count(*) FILTER (WHERE seen.draining) AS draining,
        coalesce(sum(seen.concurrency) FILTER (WHERE NOT seen.draining), 0) AS slots
    FROM (
        SELECT session.concurrency, session.draining OR worker.drained_at IS NOT NULL AS draining
        FROM workers_session AS session
        INNER JOIN workers_worker AS worker ON session.worker_id = worker.id
        WHERE session.ended_at IS NULL AND session.fenced_at IS NULL AND session.lease_expires_at > clock_timestamp()
    ) AS seen
) AS live;
