"""Who did what: each verb on someone's behalf writes exactly one entry, a refused one none."""

from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from apps.audit.models import Entry
from apps.audit.record import Actor
from apps.errors import Refusal
from apps.jobs import services
from tests.acts import enqueue, take_one
from tests.jobs.looks import fail_for_good

ANN = Actor(name="ann@example.com", user_id=uuid7(), token_id=uuid7(), address="192.0.2.7", request_id="request-1")


def waiting(queue, session) -> UUID:
    return enqueue(queue)


def scheduled(queue, session) -> UUID:
    return enqueue(queue, delay_ms=60_000)


def running(queue, session) -> UUID:
    job_id = enqueue(queue)
    take_one(session, queue)
    return job_id


def dead(queue, session) -> UUID:
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    return job_id


# the verb, a job it works on, what is written down
ON_A_JOB: dict[str, tuple[Any, ...]] = {
    "cancel": (services.cancel, waiting, {}, "job.cancel", {"state": "cancelled", "cancelling": False, "force": False}),
    "ask to stop": (
        services.cancel,
        running,
        {},
        "job.cancel",
        {"state": "running", "cancelling": True, "force": False},
    ),
    "force": (
        services.cancel,
        running,
        {"force": True},
        "job.cancel",
        {"state": "cancelled", "cancelling": False, "force": True},
    ),
    "retry": (services.retry_now, scheduled, {}, "job.retry", {"state": "queued"}),
    "replay": (services.replay, dead, {}, "job.replay", {"revive_descendants": False}),
    "discard": (services.discard, dead, {}, "job.discard", None),
}
ON_A_QUEUE: dict[str, tuple[Any, ...]] = {
    "purge": (services.purge, "queue.purge", {"cancelled": 1}),
    "replay": (services.replay_queue, "queue.replay", {"replayed": 1, "skipped": 0, "error_class": None}),
}


def assert_is_anns(entry, queue, before=None):
    assert (entry.actor, entry.user_id, entry.token_id) == (ANN.name, ANN.user_id, ANN.token_id)
    assert (entry.address, entry.request_id) == ("192.0.2.7", "request-1")
    assert entry.organization_id == queue.project.organization_id
    assert entry.before == before


@pytest.mark.parametrize("name", ON_A_JOB)
def test_what_was_done_to_a_job_is_written_down_once(queue, session, name):
    verb, make, how, action, after = ON_A_JOB[name]
    job_id = make(queue, session)
    verb(job_id=job_id, actor=ANN, **how)
    [entry] = Entry.objects.all()
    assert (entry.action, entry.target_type, entry.target_id, entry.after) == (action, "job", str(job_id), after)
    was = {"type": "ping", "queue": str(queue.pk), "reason": "permanent_error", "attempt": 1}
    assert_is_anns(entry, queue, before=was if name == "discard" else None)


@pytest.mark.parametrize("name", ON_A_QUEUE)
def test_what_was_done_to_a_queue_is_written_down_once(queue, session, name):
    verb, action, after = ON_A_QUEUE[name]
    dead(queue, session)
    waiting(queue, session)
    verb(queue=queue, actor=ANN)
    [entry] = Entry.objects.all()
    assert (entry.action, entry.target_type, entry.target_id, entry.after) == (action, "queue", str(queue.pk), after)
    assert_is_anns(entry, queue)


@pytest.mark.parametrize("verb", [services.cancel, services.retry_now, services.replay, services.discard])
def test_what_was_refused_is_not_written_down(queue, session, verb):
    job_id = running(queue, session) if verb is not services.cancel else dead(queue, session)
    for asked in (job_id, uuid7()):
        with pytest.raises(Refusal):
            verb(job_id=asked, actor=ANN)
    assert not Entry.objects.exists()


def test_what_the_system_and_the_worker_do_is_in_the_event_log_not_here(queue, session):
    dead(queue, session)
    services.submit(queue=queue, type="ping")
    assert not Entry.objects.exists()
