-- A database with a past: what the planner sees is nothing like an empty table. Run with the guard off.
INSERT INTO queues_queue (id, project_id, name, created_at, default_priority, timeout_ms, shards, weight, paused_by, pause_reason)
SELECT md5('queue' || n)::uuid, %(project)s, 'planned-' || n, now(), 0, 300000, 1, 1, '', '' FROM generate_series(1, 300) AS n;

INSERT INTO workers_worker (id, uid, created_at) SELECT md5('worker' || n)::uuid, 'seeded-' || n, now() FROM generate_series(1, 500) AS n;

INSERT INTO workers_session (
    id, worker_id, lease_expires_at, lease_seconds, heartbeat_at, started_at, ended_at, draining, concurrency, hostname, pid,
    version, queues, types, pools, fenced_writes
)
SELECT
    md5('session' || n)::uuid, md5('worker' || (n %% 500 + 1))::uuid, now() + interval '30 s', 30, now(), now(),
    CASE WHEN n > 100 THEN now() END, FALSE, 10, 'host', n, '', '{}', '{}', '{}', 0
FROM generate_series(1, 5000) AS n;

INSERT INTO jobs_job_live (
    id, queue_id, created_at, run_at, rank, max_attempts, max_losses, max_snoozes, state, pending, type, payload, fence,
    session_id, started_at, deadline_at, workflow_id, batch_id, unique_key
)
SELECT
    md5('live' || n)::uuid, md5('queue' || CASE n %% 100 WHEN 49 THEN 50 ELSE n %% 30 + 1 END)::uuid, now(), now() + (n - 25000) * interval '1 s', n, 5, 3, 100,
    CASE
        WHEN n %% 60 = 0 THEN 'running'
        WHEN n %% 10 = 1 THEN 'blocked'
        WHEN n %% 10 = 2 THEN 'scheduled'
        WHEN n %% 50 = 3 THEN 'retry_wait'
        ELSE 'queued'
    END,
    (n %% 60 <> 0 AND n %% 10 = 1)::int, (ARRAY['ping', 'pong', 'pang'])[n %% 3 + 1], '{}', n,
    CASE WHEN n %% 60 = 0 THEN md5('session' || (n / 60 %% 100 + 1))::uuid END,
    CASE WHEN n %% 60 = 0 THEN now() END,
    CASE WHEN n %% 60 = 0 THEN now() + interval '1 h' END,
    CASE WHEN n %% 5 = 0 THEN md5('workflow' || n %% 1000)::uuid END,
    CASE WHEN n %% 7 = 0 THEN md5('batch' || n %% 700)::uuid END,
    CASE WHEN n %% 11 = 0 THEN 'key-' || n END
FROM generate_series(1, 50000) AS n;

INSERT INTO jobs_job (
    id, queue_id, created_at, run_at, rank, max_attempts, max_losses, max_snoozes, state, type, payload, fence,
    finished_at, shelved_on, reason
)
SELECT
    md5('shelved' || n)::uuid, md5('queue' || (n %% 100 + 1))::uuid, now(), now(), n, 5, 3, 100,
    (ARRAY['completed', 'dead_letter', 'cancelled'])[n %% 3 + 1], 'ping', '{}', n, now() - n %% 2 * interval '1 day',
    CASE WHEN n %% 3 = 1 THEN date '9999-12-31' ELSE ((now() - n %% 2 * interval '1 day') AT TIME ZONE 'UTC')::date END,
    (ARRAY[NULL, 'permanent_error', 'parent_failed'])[n %% 3 + 1]
FROM generate_series(1, 30000) AS n;

-- A hundred thousand jobs ahead of all others wait for one worker that is away.
INSERT INTO jobs_job_live (
    id, queue_id, created_at, run_at, rank, max_attempts, max_losses, max_snoozes, state, type, payload, placement, required_worker,
    target
)
SELECT
    md5('aimed' || n)::uuid, md5('queue' || (n %% 5 + 1))::uuid, now(), now(), n - 200000, 5, 3, 100, 'queued', 'ping', '{}', 'job',
    md5('worker499')::uuid, md5('worker499')::uuid
FROM generate_series(1, 100000) AS n;

INSERT INTO jobs_attempt (id, job_id, queue_id, fence, run_at, started_at, finished_at, generation, attempt, outcome)
SELECT
    gen_random_uuid(), md5('shelved' || n)::uuid, md5('queue' || (n %% 100 + 1))::uuid, n, now(), now(),
    now() - n %% 2 * interval '1 day', 1, 1, 'success'
FROM generate_series(1, 30000) AS n;

INSERT INTO jobs_dependency (parent_id, child_id)
SELECT md5('live' || (n + 2))::uuid, md5('live' || n)::uuid FROM generate_series(1, 49990, 10) AS n;

INSERT INTO jobs_dependency (parent_id, child_id, settled_at)
SELECT md5('shelved' || n)::uuid, md5('shelved' || (n + 1))::uuid, now() FROM generate_series(1, 100000) AS n;

INSERT INTO jobs_progress (job_id, fence, attempt, stage, done, note, at) SELECT md5('live' || n)::uuid, 0, 0, '', 1, '', now() FROM generate_series(1, 50000) AS n;

INSERT INTO jobs_batch (id, project_id, size, created_at) SELECT md5('batch' || n)::uuid, %(project)s, 1, now() FROM generate_series(0, 700) AS n;

INSERT INTO jobs_workflow (id, project_id, name, created_at, generation, priority, dedicated)
SELECT md5('workflow' || n)::uuid, %(project)s, '', now(), 1, 0, FALSE FROM generate_series(0, 5000) AS n;

INSERT INTO jobs_step (workflow_id, name, job_id)
SELECT md5('workflow' || n %% 1000)::uuid, 'step-' || n, md5('live' || n)::uuid FROM generate_series(5, 50000, 5) AS n;

INSERT INTO jobs_publication (workflow_id, key, job_id, created_at)
SELECT md5('workflow' || n %% 1000)::uuid, md5('key' || n), md5('live' || n)::uuid, now() FROM generate_series(1, 20000) AS n;

INSERT INTO jobs_schedule (
    id, queue_id, name, cron_expr, timezone, job_type, payload, overlap_policy, catchup_policy, catchup_max, jitter_seconds,
    paused_by, pause_reason, trouble, created_at, paused_at, next_run_at
)
SELECT
    md5('schedule' || n)::uuid, md5('queue' || (n %% 100 + 1))::uuid, 'seeded-' || n, '* * * * *', 'UTC', 'ping', '{}', 'skip', 'skip', 10, 0,
    '', '', '', now(), CASE WHEN n %% 10 = 0 THEN now() END, now() + (n - 50) * interval '1 min'
FROM generate_series(1, 5000) AS n;

INSERT INTO jobs_tick (schedule_id, scheduled_for, outcome, why, job_id, deadline_at, late)
SELECT
    md5('schedule' || (n %% 5000 + 1))::uuid, now() - n * interval '1 min', 'fired', '', md5('shelved' || n)::uuid,
    CASE WHEN n %% 2 = 0 THEN now() - (n - 50) * interval '1 min' END, CASE WHEN n > 100 THEN FALSE END
FROM generate_series(1, 30000) AS n;

INSERT INTO audit_outbox (project_id, kind, job_ids)
SELECT %(project)s, 'job.started', ARRAY[gen_random_uuid()] FROM generate_series(1, 5000);

INSERT INTO audit_event (project_id, first_seq, last_seq, at, kind, job_ids)
SELECT md5('project' || p)::uuid, n, n, now() - n %% 2 * interval '1 day', 'job.started', ARRAY[gen_random_uuid()]
FROM generate_series(1, 1000) AS n CROSS JOIN generate_series(1, 20) AS p;

INSERT INTO audit_head (project_id, seq) SELECT md5('project' || p)::uuid, 1000 FROM generate_series(1, 2000) AS p;
