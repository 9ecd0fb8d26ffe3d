"""Parents that are discarded, pruned, or gone with their queue keep nobody waiting (case H28)."""

import pytest

from apps.errors import BadInput, InUse
from apps.jobs import services
from apps.jobs.engine.prune import prune_dead
from apps.jobs.selectors.why import why_waiting
from tests.acts import enqueue, finish, let_days_pass, take, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, fail_for_good, look, reason, state


def by_hand(queue, job_id):
    services.discard(job_id=job_id, actor=ANN)


def by_retention(queue, job_id):
    let_days_pass(job_id, 31)
    prune_dead()


@pytest.mark.parametrize("gone", [by_hand, by_retention])
def test_children_of_a_dead_letter_that_is_gone_are_where_its_death_put_them(gone, queue, session):
    parent = enqueue(queue, priority=1)
    obedient, anyway = (enqueue(queue, depends_on=[parent], on_parent_failure=rule) for rule in ("cancel", "run"))
    other = enqueue(queue, delay_ms=3_600_000)
    waits = enqueue(queue, depends_on=[parent, other], on_parent_failure="run")
    fail_for_good(session, queue, parent)
    gone(queue, parent)
    assert [state(job_id) for job_id in (obedient, anyway, waits)] == ["cancelled", "queued", "blocked"]
    assert reason(obedient) == "parent_failed"
    waiting = why_waiting(look(waits))
    assert waiting
    assert list(waiting.gates[0].jobs) == [other]
    services.cancel(job_id=other, actor=ANN)
    assert state(waits) == "queued"


@pytest.mark.parametrize("gone", [by_hand, by_retention])
def test_a_parent_that_is_gone_is_unknown_to_a_new_child(gone, queue, session):
    parent = enqueue(queue)
    fail_for_good(session, queue, parent)
    gone(queue, parent)
    with pytest.raises(BadInput, match=str(parent)):
        services.submit(queue=queue, type="ping", depends_on=[parent])


def test_a_queue_is_not_deleted_while_a_job_of_another_waits_for_one_of_its_own(queue):
    home = QueueFactory.create(project=queue.project)
    parent = enqueue(home)
    child = enqueue(queue, depends_on=[parent])
    with pytest.raises(InUse):
        services.delete_queue(queue=home, actor=ANN)
    assert state(child) == "blocked"
    services.cancel(job_id=parent, actor=ANN)
    assert (state(child), reason(child)) == ("cancelled", "parent_failed")
    services.delete_queue(queue=home, actor=ANN)


def test_a_child_of_a_job_whose_queue_was_deleted_after_it_had_ended_goes_on(queue, session):
    home = QueueFactory.create(project=queue.project)
    done, other = enqueue(home), enqueue(queue)
    child = enqueue(queue, depends_on=[done, other])
    finish(session, take_one(session, home))
    services.delete_queue(queue=home, actor=ANN)
    assert (state(child), look(child).pending) == ("blocked", 1)
    finish(session, *take(session, queue))
    assert take_one(session, queue).job_id == child
