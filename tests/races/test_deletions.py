"""What arrives in a queue while it is being deleted: nothing is left behind without a queue. Case H34."""

import pytest
from django.db import transaction

from apps.errors import NotFound
from apps.jobs import services
from apps.jobs.engine.replay import replay
from apps.jobs.models import Job
from apps.queues.models import Queue
from apps.queues.services import create
from tests.acts import enqueue, finish, take_one
from tests.jobs.deletions import carry_out, rows_of, turn
from tests.jobs.looks import ANN, state, told
from tests.races.stage import aside, together

pytestmark = pytest.mark.usefixtures("own_database")


def delete(queue, *, cancel=True):
    services.delete_queue(queue=queue, actor=ANN, cancel=cancel)


def test_a_job_whose_transaction_knew_the_queue_is_waited_for(queue):
    with transaction.atomic():
        job = enqueue(queue)
        aside(lambda: delete(queue))
        aside(turn)
        assert aside(lambda: rows_of(queue.pk)) == {"queues_queue": 1}
    carry_out()
    assert state(job) == "cancelled"
    assert rows_of(queue.pk) == {}


def test_one_that_begins_after_the_deletion_finds_no_queue(queue):
    delete(queue)
    with pytest.raises(NotFound):
        enqueue(queue)
    assert not Job.objects.exists()


def test_a_dead_letter_that_is_replayed_past_the_walk_is_found(queue, session):
    """By somebody who had looked it up before."""
    dead = enqueue(queue)
    finish(session, take_one(session, queue), outcome="permanent_error")
    enqueue(queue)
    with transaction.atomic():
        replay(delays_ms={dead: 0})
        aside(lambda: delete(queue))
        aside(turn)
    carry_out()
    assert state(dead) == "cancelled"
    assert rows_of(queue.pk) == {}


def test_many_schedulers_carry_one_deletion_out_once(queue):
    jobs = [enqueue(queue) for _ in range(300)]
    delete(queue)
    for _ in range(5):
        together(*[services.carry_out] * 4)
    carry_out()
    assert {state(job) for job in jobs} == {"cancelled"}
    cancelled = told("job.cancelled")
    assert [sum(job in fact.job_ids for fact in cancelled) for job in jobs] == [1] * 300
    assert rows_of(queue.pk) == {}


def test_of_two_who_delete_one_does(queue):
    def go():
        try:
            delete(queue)
        except NotFound:
            return "absent"
        return "deleted"

    assert sorted(together(go, go)) == ["absent", "deleted"]


def test_a_queue_that_is_made_while_its_project_goes_goes_too(project):
    with transaction.atomic():
        late = create(project=project, actor=ANN, name="late")
        aside(lambda: services.delete_project(project=project, actor=ANN))
    job = enqueue(late)
    carry_out()
    assert state(job) == "cancelled"
    assert not Queue.every.exists()


def test_two_queues_of_one_name_are_never_there_at_once(queue):
    def again():
        return create(project=queue.project, actor=ANN, name=queue.name).pk

    delete(queue, cancel=False)
    made = again()
    assert list(Queue.objects.values_list("pk", flat=True)) == [made]
    carry_out()
    assert list(Queue.every.values_list("pk", flat=True)) == [made]
