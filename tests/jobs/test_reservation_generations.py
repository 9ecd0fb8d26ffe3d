"""What runs by a generation of its reservation that is over: it is told to stop, and nothing of it counts."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from apps.errors import LeaseLost
from apps.jobs import services
from apps.jobs.engine.claim import Claim
from apps.jobs.engine.fenced import fenced
from apps.jobs.engine.heartbeat import heartbeat
from apps.workers.models import Reservation
from tests import acts
from tests.jobs.aims import aimed, workflow
from tests.jobs.looks import ANN, come_round, look, state
from tests.jobs.test_reservations import bound


@pytest.fixture
def stale(queue, session) -> Iterator[Claim]:
    """A job that runs by a generation of its reservation that is over."""
    flow, _ = workflow(queue, jobs=1)
    bound(flow, session)
    [taken] = aimed(session, queue)
    assert look(taken.job_id).reservation_generation == 1
    Reservation.objects.update(generation=2)
    yield taken
    Reservation.objects.update(generation=1)


def test_what_ran_by_an_old_generation_does_not_count(stale, session):
    assert acts.finish(session, stale) == []
    assert acts.finish(session, stale, outcome="retryable_error") == []
    assert state(stale.job_id) == "running"
    assert len(acts.finish(session, stale, outcome="released")) == 1
    assert state(stale.job_id) == "queued"


def test_the_heartbeat_tells_a_worker_to_drop_it(stale, session):
    pair = (stale.job_id, stale.fence)
    beat = heartbeat(session_id=session.pk, held=dict([pair]))
    assert beat.lost == {pair}


def test_its_writes_are_fenced(stale, session):
    owner = {"fence": stale.fence, "session_id": session.pk, "generation": stale.generation}
    with pytest.raises(LeaseLost), fenced(job_id=stale.job_id, **owner):
        pass


@pytest.fixture
def left(queue, session) -> UUID:
    """A job that ran once by a reservation, and waits since that has ended."""
    flow, [job_id] = workflow(queue, jobs=1, placement=None)
    made = bound(flow, session)
    acts.finish(session, *aimed(session, queue), outcome="retryable_error")
    services.end_reservation(reservation_id=made.pk, actor=ANN)
    come_round(job_id)
    return job_id


def test_what_was_reserved_once_runs_like_any_other_when_that_is_over(queue, session, left):
    taken = acts.take_one(session, queue)
    assert len(acts.finish(session, taken)) == 1
    assert state(left) == "completed"


def test_a_replay_starts_without_a_generation(queue, session):
    flow, [job_id] = workflow(queue, jobs=1, placement=None)
    bound(flow, session)
    acts.finish(session, *aimed(session, queue), outcome="permanent_error")
    services.replay(job_id=job_id, actor=ANN)
    assert look(job_id).reservation_generation is None
