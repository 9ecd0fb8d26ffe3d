"""A handler's own writes: committed while its job is its own, and never beside a successor's."""

from contextlib import contextmanager

import pytest
from django.db import DatabaseError, connection

from apps.errors import LeaseLost
from apps.jobs.engine.cancel import cancel
from apps.jobs.engine.fenced import fenced
from apps.jobs.engine.replay import replay
from apps.sql import open_own
from apps.workers.engine.goodbye import goodbye
from apps.workers.engine.register import register
from apps.workers.models import Session, Worker
from tests.acts import enqueue, finish, pass_deadline, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import come_round, let_lapse, reap_all, state
from tests.processes import until
from tests.races.stage import aside, meanwhile

pytestmark = pytest.mark.usefixtures("arena")


@contextmanager
def held(session, taken, **other):
    """The block of a handler that runs this attempt."""
    said = {"fence": taken.fence, "session_id": session.pk, "generation": taken.generation}
    with fenced(job_id=taken.job_id, **said | other):
        yield


def write(text="written"):
    Worker.objects.create(uid=text)


def written() -> bool:
    return Worker.objects.filter(uid="written").exists()


def refused(session, taken, **other) -> bool:
    with pytest.raises(LeaseLost), held(session, taken, **other):
        write()
    return not written()


@pytest.fixture
def taken(queue, session):
    enqueue(queue)
    return take_one(session, queue)


def take_back(session):
    """The session falls silent and its jobs are taken from it."""
    let_lapse(session)
    return reap_all()


def test_what_the_owner_writes_is_kept(session, taken):
    with held(session, taken):
        write()
    assert written()
    assert len(finish(session, taken)) == 1


def test_an_error_in_the_block_undoes_it(session, taken):
    def stumble():
        with held(session, taken):
            write()
            raise KeyError

    with pytest.raises(KeyError):
        stumble()
    assert not written()


@pytest.mark.parametrize("other", [{"fence": 1}, {"generation": 2}, {"session_id": "another"}])
def test_fence_generation_and_session_must_all_be_the_jobs(session, taken, other):
    if "session_id" in other:
        other = {"session_id": SessionFactory.create().pk}
    assert refused(session, taken, **other)


def test_a_job_that_was_taken_back_is_no_longer_written_for(session, taken):
    assert take_back(session)
    assert refused(session, taken)


def test_nor_while_its_successor_runs_it(queue, session, taken):
    take_back(session)
    come_round(taken.job_id)
    successor = SessionFactory.create()
    again = take_one(successor, queue)
    assert refused(session, taken)
    with held(successor, again):
        write()


def test_nor_after_it_was_replayed_and_taken_by_the_same_session(queue, session, taken):
    finish(session, taken, outcome="permanent_error")
    replay(delays_ms={taken.job_id: 0})
    again = take_one(session, queue)
    assert again.generation == taken.generation + 1
    assert refused(session, taken)
    assert refused(session, again, generation=taken.generation)


def test_a_new_boot_of_the_worker_ends_the_writes_of_the_old(session, taken):
    register(uid=session.worker.uid, concurrency=1, lease_seconds=30, hostname="box", pid=2)
    assert refused(session, taken)


def test_a_session_that_said_goodbye_writes_no_more(session, taken):
    goodbye(session_id=session.pk)
    assert refused(session, taken)
    Session.objects.filter(pk=session.pk).update(ended_at=None)


def test_who_takes_it_back_meanwhile_passes_it_by(queue, session, taken):
    """The write is committed before anybody else can have the job."""
    successor = SessionFactory.create()
    with held(session, taken):
        assert aside(lambda: take_back(session)) == []
        assert aside(lambda: take(successor, queue)) == []
        write()
    assert written()
    assert [one.outcome for one in reap_all()] == ["lost"]


def test_a_new_boot_meanwhile_does_not_get_the_job_before_the_write(session, taken):
    def boot():
        return register(uid=session.worker.uid, concurrency=1, lease_seconds=30, hostname="box", pid=2).fenced

    with held(session, taken):
        assert aside(boot) == 1
        assert aside(lambda: reap_all()) == []
        write()
    assert written()
    assert [one.outcome for one in reap_all()] == ["lost"]


def test_who_comes_while_it_is_taken_back_waits_and_is_refused(session, taken):
    with meanwhile(lambda: refused(session, taken)) as late:
        assert take_back(session)
    assert late.result()


def test_and_may_write_when_the_taking_was_undone(session, taken):
    def write_fenced():
        with held(session, taken):
            write()

    with meanwhile(write_fenced, then="undo") as late:
        assert take_back(session)
    late.result()
    assert written()


def test_an_end_by_force_waits_for_the_block(session, taken):
    with meanwhile(lambda: cancel(job_id=taken.job_id, force=True)), held(session, taken):
        write()
    assert written()
    assert state(taken.job_id) == "cancelled"
    with pytest.raises(LeaseLost), held(session, taken):
        write("more")


def test_a_block_that_outlives_its_deadline_is_ended_by_the_server(session, taken):
    """Its row would be held from everybody, for as long as the handler hangs."""
    pass_deadline(taken.job_id)
    with pytest.raises(DatabaseError, match="timeout"):
        hang(session, taken)
    assert not written()
    assert [one.outcome for one in reap_all()] == ["timeout"]


def hang(session, taken):
    """Sit in the block until the server has had enough, then try to go on."""
    with held(session, taken):
        write()
        pid = connection.connection.info.backend_pid
        with open_own() as watcher:
            until(lambda: not watcher.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).fetchall())
        write("more")
