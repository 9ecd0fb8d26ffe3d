-- The partitioned tables of jobs. Days are cut by apps/jobs/engine/partition.py, never by a default partition.
--
-- Column order is chosen for the claim, which rewrites the row: what it changes stands together, so that
-- the write-ahead log carries only the middle of the row when both versions share a page.
CREATE TABLE jobs_job (
    id uuid NOT NULL,
    queue_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    run_at timestamptz NOT NULL,
    rank bigint NOT NULL,
    ranked_aging bigint,
    batch_id uuid,
    workflow_id uuid,
    retry_policy_id uuid,
    schedule_id uuid,
    submitted_by uuid,
    required_worker uuid,
    assigned_worker uuid,
    target uuid,
    timeout_ms bigint,
    priority smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL,
    max_losses smallint NOT NULL,
    max_snoozes smallint NOT NULL,
    generation smallint NOT NULL DEFAULT 1,
    fence bigint NOT NULL DEFAULT 0,
    session_id uuid,
    started_at timestamptz,
    deadline_at timestamptz,
    finished_at timestamptz,
    cancel_requested_at timestamptz,
    shelved_on date,
    pending integer NOT NULL DEFAULT 0,
    reservation_generation integer,
    attempt smallint NOT NULL DEFAULT 0,
    losses smallint NOT NULL DEFAULT 0,
    snoozes smallint NOT NULL DEFAULT 0,
    releases smallint NOT NULL DEFAULT 0,
    shard smallint,
    has_dependents boolean NOT NULL DEFAULT false,
    requires_approval boolean NOT NULL DEFAULT false,
    key_full boolean NOT NULL DEFAULT false,
    state text NOT NULL,
    resume_state text,
    on_parent_failure text,
    placement text,
    type text NOT NULL,
    unique_key text,
    concurrency_key text,
    request_id text,
    reason text,
    payload jsonb NOT NULL,
    labels jsonb,
    result jsonb,
    approval jsonb,
    CONSTRAINT job_fence_not_behind_attempt CHECK (fence >= attempt)
) PARTITION BY LIST (shelved_on);

-- Everything that may still run: small and hot. Half of each page is left free, so that the claim's new
-- version of a row lands beside the old one.
CREATE TABLE jobs_job_live PARTITION OF jobs_job FOR VALUES IN (NULL) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);
-- PostgreSQL reads and compiles each condition at every statement that writes here, so they are few and short;
-- what a shelf implies (no day, no end) is said once, by the shelf. See docs/decisions/0011.
ALTER TABLE jobs_job_live ADD CONSTRAINT job_live_may_still_run CHECK (
    state IN ('scheduled', 'blocked', 'awaiting_approval', 'queued', 'running', 'retry_wait', 'paused')
    AND finished_at IS NULL
);
ALTER TABLE jobs_job_live ADD CONSTRAINT job_running_means_held CHECK (
    state <> 'running' OR (session_id IS NOT NULL AND started_at IS NOT NULL AND deadline_at IS NOT NULL)
);
ALTER TABLE jobs_job_live ADD CONSTRAINT job_pending_means_blocked CHECK (pending = 0 OR state IN ('blocked', 'paused'));
ALTER TABLE jobs_job_live ADD CONSTRAINT job_run_at_is_sane CHECK (run_at < '9999-01-01Z');
CREATE UNIQUE INDEX jobs_job_live_id ON jobs_job_live (id);
-- claim.sql: one lane per queue and type, walked in order
CREATE INDEX jobs_job_live_lane ON jobs_job_live (queue_id, type, rank, id)
WHERE state = 'queued' AND NOT key_full AND target IS NULL;
-- claim_aimed.sql: the same for each worker, of the jobs that wait for it
CREATE INDEX jobs_job_live_aimed ON jobs_job_live (queue_id, target, type, rank, id)
WHERE state = 'queued' AND NOT key_full AND target IS NOT NULL;
-- promote.sql
CREATE INDEX jobs_job_live_due ON jobs_job_live (run_at) WHERE state IN ('scheduled', 'retry_wait');
-- reap.sql, heartbeat.sql, and the claim's count of what its session runs
CREATE INDEX jobs_job_live_session ON jobs_job_live (session_id) WHERE state = 'running';
-- enqueue.sql: one live job per key
CREATE UNIQUE INDEX jobs_job_live_unique_key ON jobs_job_live (queue_id, unique_key) WHERE unique_key IS NOT NULL;
-- admit.sql: the jobs of a key that wait to be let through, in order …
CREATE INDEX jobs_job_live_key_full ON jobs_job_live (queue_id, concurrency_key, rank, id) WHERE state = 'queued' AND key_full;
-- … and those that run or may be claimed
CREATE INDEX jobs_job_live_key ON jobs_job_live (queue_id, concurrency_key)
WHERE concurrency_key IS NOT NULL AND NOT key_full AND state IN ('queued', 'running');
CREATE INDEX jobs_job_live_workflow ON jobs_job_live (workflow_id) WHERE workflow_id IS NOT NULL;
CREATE INDEX jobs_job_live_batch ON jobs_job_live (batch_id) WHERE batch_id IS NOT NULL;
-- line.sql: what a person holds back; few are
CREATE INDEX jobs_job_live_stopped ON jobs_job_live (queue_id, id) WHERE state IN ('paused', 'awaiting_approval');
-- lists of a queue, and its deletion: not for every insert; see docs/decisions

CREATE TABLE jobs_job_dead PARTITION OF jobs_job FOR VALUES IN ('9999-12-31');
ALTER TABLE jobs_job_dead ADD CONSTRAINT job_dead_has_ended CHECK (state = 'dead_letter' AND finished_at IS NOT NULL);
CREATE UNIQUE INDEX jobs_job_dead_id ON jobs_job_dead (id);
CREATE INDEX jobs_job_dead_queue ON jobs_job_dead (queue_id, id);
CREATE INDEX jobs_job_dead_workflow ON jobs_job_dead (workflow_id, id) WHERE workflow_id IS NOT NULL;
CREATE INDEX jobs_job_dead_batch ON jobs_job_dead (batch_id, id) WHERE batch_id IS NOT NULL;

CREATE TABLE jobs_attempt (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    queue_id uuid NOT NULL,
    session_id uuid,
    worker_id uuid,
    fence bigint NOT NULL,
    run_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    generation smallint NOT NULL,
    attempt smallint NOT NULL,
    outcome text NOT NULL,
    error_class text,
    error_message text,
    traceback text,
    runtime jsonb,
    CONSTRAINT attempt_outcome_is_known CHECK (
        outcome IN (
            'success', 'retryable_error', 'permanent_error', 'timeout', 'lost', 'crashed',
            'snoozed', 'needs_approval', 'released', 'cancelled'
        )
    )
) PARTITION BY RANGE (finished_at);

CREATE TABLE jobs_log (
    job_id uuid NOT NULL,
    fence bigint NOT NULL,
    at timestamptz NOT NULL,
    line integer NOT NULL,
    attempt smallint NOT NULL,
    level text NOT NULL,
    message text NOT NULL
) PARTITION BY RANGE (at);
