"""The guard of moves: in test databases, triggers refuse whatever states.MOVES does not name.

A job with a concurrency key that comes into the line must come flagged: only admit.sql lets it through.

A live job waits for whom aim.sql would have it wait for: looked at when the transaction commits, as a workflow and
its jobs change in more than one statement.

A change of state is an UPDATE, or a DELETE and an INSERT of the same id in one transaction (a job
that changes its shelf): both are watched. Leaving the live shelf without arriving anywhere is
refused when the transaction commits; dead letters and finished days may be discarded.
`SET fencepost.guard = 'off'` in a transaction lets a test lay out rows by hand.
"""

from apps.jobs.states import LIVE, MOVES

TRIGGERS = """
CREATE TABLE guard_left (id uuid PRIMARY KEY, state text NOT NULL);

CREATE FUNCTION guard_move(old_state text, new_state text, id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (old_state, new_state) NOT IN (MOVES_HERE) THEN
        RAISE EXCEPTION 'illegal move % -> % of job %', old_state, new_state, id USING ERRCODE = 'check_violation';
    END IF;
END $$;

CREATE FUNCTION guard_key(old_state text, new_state text, key text, key_full boolean, id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF new_state = 'queued' AND old_state <> 'running' AND key IS NOT NULL AND NOT key_full THEN
        RAISE EXCEPTION 'job % of key % queued past admit', id, key USING ERRCODE = 'check_violation';
    END IF;
END $$;

CREATE FUNCTION guard_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM guard_move(OLD.state, NEW.state, NEW.id);
    PERFORM guard_key(OLD.state, NEW.state, NEW.concurrency_key, NEW.key_full, NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION guard_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO guard_left VALUES (OLD.id, OLD.state);
    RETURN NULL;
END $$;

CREATE FUNCTION guard_came() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    old_state text;
BEGIN
    DELETE FROM guard_left WHERE guard_left.id = NEW.id RETURNING guard_left.state INTO old_state;
    PERFORM guard_move(coalesce(old_state, 'nothing'), NEW.state, NEW.id);
    PERFORM guard_key('nothing', NEW.state, NEW.concurrency_key, NEW.key_full, NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION guard_vanished() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM guard_left WHERE guard_left.id = NEW.id AND guard_left.state = NEW.state;
    IF FOUND AND NEW.state IN (LIVE_HERE) THEN
        RAISE EXCEPTION 'job % vanished while %', NEW.id, NEW.state USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION guard_target() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    job record;
    wanted uuid;
BEGIN
    SELECT live.placement, live.target, live.state,
        CASE live.placement WHEN 'dispatch' THEN coalesce(live.required_worker, flow.required_worker, flow.assigned_worker)
            WHEN 'job' THEN coalesce(live.required_worker, live.assigned_worker) END AS worker, reservation.id AS reservation
    INTO job
    FROM jobs_job_live AS live
    LEFT JOIN jobs_workflow AS flow ON live.workflow_id = flow.id
    LEFT JOIN workers_reservation AS reservation
        ON flow.id = reservation.workflow_id AND reservation.state IN ('pending', 'bound')
    WHERE live.id = NEW.id;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    wanted := coalesce(job.reservation, job.worker, CASE job.placement
        WHEN 'job' THEN uuid '00000000-0000-0000-0000-000000000001'
        WHEN 'dispatch' THEN uuid '00000000-0000-0000-0000-000000000002' END);
    IF job.target IS DISTINCT FROM wanted THEN
        RAISE EXCEPTION 'job % (%) waits for %, and should for %', NEW.id, job.state, job.target, wanted
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER guard_changed AFTER UPDATE OF state ON jobs_job FOR EACH ROW
WHEN (OLD.state IS DISTINCT FROM NEW.state AND current_setting('fencepost.guard', true) IS DISTINCT FROM 'off')
EXECUTE FUNCTION guard_changed();

CREATE TRIGGER guard_gone AFTER DELETE ON jobs_job FOR EACH ROW
WHEN (current_setting('fencepost.guard', true) IS DISTINCT FROM 'off')
EXECUTE FUNCTION guard_gone();

CREATE TRIGGER guard_came AFTER INSERT ON jobs_job FOR EACH ROW
WHEN (current_setting('fencepost.guard', true) IS DISTINCT FROM 'off')
EXECUTE FUNCTION guard_came();

CREATE CONSTRAINT TRIGGER guard_target AFTER INSERT OR UPDATE ON jobs_job_live DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN ((NEW.workflow_id IS NOT NULL OR NEW.placement IS NOT NULL OR NEW.target IS NOT NULL)
    AND current_setting('fencepost.guard', true) IS DISTINCT FROM 'off')
EXECUTE FUNCTION guard_target();

CREATE CONSTRAINT TRIGGER guard_vanished AFTER INSERT ON guard_left DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION guard_vanished();
"""


def sql() -> str:
    """The triggers, drawn from MOVES."""
    moves = ", ".join(f"('{old.value if old else 'nothing'}', '{new.value}')" for old, new in MOVES)
    live = ", ".join(f"'{state.value}'" for state in LIVE)
    return TRIGGERS.replace("MOVES_HERE", moves).replace("LIVE_HERE", live)
