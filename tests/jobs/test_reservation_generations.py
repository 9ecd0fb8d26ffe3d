"""What runs by a generation of its reservation that is over: it is told to stop, and nothing of it counts."""

from collections.abc import Iterator

import pytest

from apps.errors import LeaseLost
from apps.jobs.engine.claim import Claim
from apps.jobs.engine.fenced import fenced
from apps.jobs.engine.heartbeat import heartbeat
from apps.workers.models import Reservation
from tests import acts
from tests.jobs.aims import aimed, workflow
from tests.jobs.looks import look, state
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
