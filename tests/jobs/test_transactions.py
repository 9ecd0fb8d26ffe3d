"""A job belongs to the transaction that submits it: no commit, no job, no wake-up, no event."""

from contextlib import contextmanager, suppress
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from apps.audit.models import Outbox
from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.engine.wake import CHANNEL, QUEUES_MAX, payload
from apps.jobs.models import Job
from tests.acts import enqueue, finish, take, take_one
from tests.factories import OrganizationFactory, QueueFactory
from tests.jobs.looks import ANN, fail_for_good, look, run, state
from tests.races.stage import aside

PATIENCE = 10  # seconds


class Mishap(Exception):
    pass


@contextmanager
def undone():
    """A transaction that an error rolls back at its end."""
    with suppress(Mishap), transaction.atomic():
        yield
        raise Mishap


def submit(queue, **fields):
    return services.submit(queue=queue, type="ping", **fields)


@contextmanager
def listening(database):
    """Hear wake-ups on a second connection; call what comes to have the next one as a set of queues."""
    with database.connect(autocommit=True) as ear:
        ear.execute(f"LISTEN {CHANNEL}")

        def heard():
            [notify] = ear.notifies(timeout=PATIENCE, stop_after=1)
            return set(notify.payload.split(","))

        yield heard


def names(*queues):
    return {str(queue.pk) for queue in queues}


@pytest.fixture
def others(arena, queue):
    return QueueFactory.create_batch(3, project=queue.project)


def test_what_is_rolled_back_was_never_there(queue, session):
    with undone():
        job = submit(queue)
        assert Job.objects.filter(id=job.id).exists()
    assert not Job.objects.exists()
    assert not Outbox.objects.exists()
    assert take(session, queue) == []


def test_what_an_inner_block_rolls_back_is_gone_and_the_rest_is_committed(queue):
    with transaction.atomic():
        kept = submit(queue)
        with undone():
            submit(queue, unique_key="k")
        again = submit(queue, unique_key="k")
    assert again.is_new
    assert {job.id for job in Job.objects.all()} == {kept.id, again.id}


def test_a_refusal_leaves_the_callers_transaction_in_order(queue):
    with transaction.atomic():
        with pytest.raises(BadInput):
            submit(queue, priority="high")
        job = submit(queue)
    assert state(job.id) == "queued"


def test_nobody_sees_a_job_or_its_event_before_the_commit(arena, queue, session):
    with transaction.atomic():
        job = submit(queue)
        assert aside(lambda: Job.objects.filter(id=job.id).exists()) is False
        assert aside(Outbox.objects.exists) is False
        assert aside(lambda: take(session, queue)) == []
    assert aside(lambda: take_one(session, queue)).job_id == job.id


def test_a_transaction_that_fails_at_its_commit_leaves_nothing(arena, queue, others):
    @transaction.atomic
    def promise_too_much():
        submit(queue)
        run(
            "INSERT INTO accounts_project (id, name, slug, organization_id, created_at)"
            " VALUES (gen_random_uuid(), 'p', 'p', gen_random_uuid(), now())"
        )

    with listening(arena) as heard:
        with pytest.raises(IntegrityError):
            promise_too_much()
        assert not Job.objects.exists()
        submit(others[0])
        assert heard() == names(others[0])


def test_a_rollback_wakes_nobody(arena, queue, others):
    with listening(arena) as heard:
        with undone():
            submit(queue)
        submit(others[0])
        assert heard() == names(others[0])


def test_what_an_inner_block_rolls_back_wakes_nobody(arena, queue, others):
    with listening(arena) as heard:
        with transaction.atomic():
            submit(others[0])
            with undone():
                submit(queue)
        assert heard() == names(others[0])


def test_the_wake_up_comes_with_the_commit_not_before(arena, queue, others):
    with listening(arena) as heard:
        with transaction.atomic():
            submit(queue)
            aside(lambda: submit(others[0]))
            assert heard() == names(others[0])
        assert heard() == names(queue)


def test_without_a_transaction_it_comes_at_once(arena, queue):
    with listening(arena) as heard:
        submit(queue)
        assert heard() == names(queue)


def test_a_job_may_be_submitted_when_something_else_commits(arena, queue):
    with listening(arena) as heard:
        with transaction.atomic():
            OrganizationFactory.create()
            transaction.on_commit(lambda: submit(queue))
            assert not Job.objects.exists()
        assert Job.objects.count() == 1
        assert heard() == names(queue)


def test_a_thousand_jobs_are_one_wake_up(arena, queue, others):
    with listening(arena) as heard:
        services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 1000)
        assert heard() == names(queue)
        submit(others[0])
        assert heard() == names(others[0])


def test_a_job_that_cannot_run_yet_wakes_nobody(arena, queue, others):
    with listening(arena) as heard:
        parent = submit(others[1])
        assert heard() == names(others[1])
        submit(queue, delay_seconds=60)
        submit(queue, depends_on=[parent.id])
        submit(others[0])
        assert heard() == names(others[0])


def test_retry_and_replay_wake_their_queues(arena, queue, session, others):
    dead = enqueue(queue)
    fail_for_good(session, queue, dead)
    dead_in_bulk = enqueue(others[0])
    fail_for_good(session, others[0], dead_in_bulk)
    waiting = enqueue(others[1], delay_ms=60_000)
    with listening(arena) as heard:
        services.replay(job_id=dead, actor=ANN)
        assert heard() == names(queue)
        services.replay_queue(queue=others[0], actor=ANN)
        assert heard() == names(others[0])
        services.retry_now(job_id=waiting, actor=ANN)
        assert heard() == names(others[1])


def test_what_a_person_sets_free_wakes_its_queue(arena, queue, others):
    approved, rejected = enqueue(queue, requires_approval=True), enqueue(others[0], requires_approval=True)
    enqueue(others[1], depends_on=[rejected], on_parent_failure="run")
    blocked = enqueue(others[0], depends_on=[enqueue(others[0])])
    with listening(arena) as heard:
        services.approve(job_id=approved, actor=ANN)
        assert heard() == names(queue)
        services.reject(job_id=rejected, actor=ANN)
        assert heard() == names(others[1])
        services.set_parents(job_id=blocked, actor=ANN, depends_on=[])
        assert heard() == names(others[0])
        services.duplicate(job_id=blocked, actor=ANN)
        assert heard() == names(others[0])


def test_what_a_deleted_queue_held_up_is_woken_elsewhere(arena, queue, others):
    gone, other, _ = others
    parent = enqueue(gone)
    child = enqueue(gone, depends_on=[parent])
    enqueue(other, depends_on=[child])
    enqueue(queue, depends_on=[parent], on_parent_failure="run")
    services.delete_queue(queue=gone, actor=ANN, cancel=True)
    with listening(arena) as heard:
        services.carry_out()
        assert heard() == names(queue)


def test_a_job_with_a_key_is_let_through_when_its_approval_is_committed_not_before(arena, queue, session):
    job_id = enqueue(queue, concurrency_key="k", requires_approval=True)
    with transaction.atomic():
        services.approve(job_id=job_id, actor=ANN)
        assert look(job_id).key_full
    assert take_one(session, queue).job_id == job_id


def test_queues_too_many_to_name_wake_everybody():
    many = {UUID(int=n) for n in range(QUEUES_MAX + 1)}
    assert payload(many) == ""
    few = set(sorted(many)[:QUEUES_MAX])
    assert set(payload(few).split(",")) == {str(one) for one in few}
    assert len(payload(few)) < 8000  # what a notification may carry


def test_a_worker_reports_inside_the_transaction_of_whoever_calls(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    with undone():
        finish(session, taken)
        assert state(job_id) == "completed"
    assert state(job_id) == "running"
    assert len(finish(session, taken)) == 1
