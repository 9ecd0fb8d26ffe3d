-- The outbox, the log it is moved to, and the guard of the audit trail.
CREATE TABLE audit_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    project_id uuid NOT NULL,
    queue_id uuid,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL,
    state text,
    job_ids uuid [] NOT NULL,
    attempts smallint [],
    errors text [],
    data jsonb
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE audit_event (
    project_id uuid NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    queue_id uuid,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    state text,
    job_ids uuid [] NOT NULL,
    attempts smallint [],
    errors text [],
    data jsonb,
    CONSTRAINT event_numbers_fit CHECK (last_seq - first_seq + 1 = greatest(cardinality(job_ids), 1))
) PARTITION BY RANGE (at);

CREATE FUNCTION audit_entry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'An audit entry is never changed.' USING ERRCODE = 'restrict_violation';
END $$;
