"""A worker whose name the next process took is not said to have fallen silent."""

from apps.workers.admin import state_of
from apps.workers.engine.register import register
from tests.acts import enqueue, take_one
from tests.jobs.looks import ledger, let_lapse, reap_all, told

SUPERSEDED = "The worker was superseded: another process began under its name."
SILENT = "The worker fell silent: its lease ran out."


def begin_again(session):
    register(uid=session.worker.uid, concurrency=1, lease_seconds=30, hostname="host", pid=2)
    session.refresh_from_db()


def why(job_id):
    """As the ledger and the event say it."""
    [entry], [fact] = ledger(job_id), told("job.retry_wait")
    assert fact.errors == [f"{entry.error_class}: {entry.error_message}"]
    assert (entry.outcome, entry.error_class) == ("lost", "WorkerLost")
    return entry.error_message


def test_what_it_ran_is_lost_because_it_was_superseded(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    begin_again(session)
    reap_all()
    assert (why(job_id), state_of(session)) == (SUPERSEDED, "superseded")


def test_one_that_had_been_silent_for_its_lease_before_is_said_to_have_been_that(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    begin_again(session)
    reap_all()
    assert (why(job_id), state_of(session)) == (SILENT, "silent")


def test_one_that_nobody_followed_fell_silent(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    reap_all()
    session.refresh_from_db()
    assert (why(job_id), state_of(session)) == (SILENT, "silent")
