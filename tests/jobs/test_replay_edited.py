"""Replay with another payload: checked like a submission's, and the one before stays readable."""

import pytest

from apps.audit.models import Entry
from apps.errors import BadInput, IllegalMove
from apps.jobs import services
from apps.jobs.selectors.detail import earlier_payloads
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import ANN, fail_for_good, look, row, run


def replay(job_id, **how):
    services.replay(job_id=job_id, actor=ANN, **how)


@pytest.fixture
def dead(queue, session):
    job_id = enqueue(queue, payload='{"path": "a.pgn"}', unique_key="k")
    fail_for_good(session, queue, job_id)
    return job_id


def test_it_runs_with_the_new_payload_as_the_same_job(queue, session, dead):
    replay(dead, payload={"path": "a.png"})
    taken = take_one(session, queue)
    assert (taken.job_id, taken.payload, taken.generation) == (dead, '{"path": "a.png"}', 2)
    assert look(dead).unique_key == "k"


@pytest.mark.parametrize("payload", [None, [], "", 0, {"é": "\N{SNOWMAN}"}])
def test_any_json_is_a_payload(payload, dead):
    replay(dead, payload=payload)
    assert look(dead).payload == payload


def test_both_payloads_are_in_the_audit_trail_and_the_old_one_with_the_job(queue, session, dead):
    replay(dead, payload={"path": "b"})
    fail_for_good(session, queue, dead)
    replay(dead)
    fail_for_good(session, queue, dead)
    replay(dead, payload={"path": "c"})
    entries = [(entry.before, entry.after) for entry in Entry.objects.filter(action="job.replay").order_by("id")]
    kept = {"revive_descendants": False}
    assert entries == [
        ({"payload": {"path": "a.pgn"}}, {**kept, "payload": {"path": "b"}}),
        (None, kept),
        ({"payload": {"path": "b"}}, {**kept, "payload": {"path": "c"}}),
    ]
    assert [(one.payload, one.by) for one in earlier_payloads(look(dead))] == [
        ({"path": "a.pgn"}, ANN.name),
        ({"path": "b"}, ANN.name),
    ]


@pytest.mark.parametrize("payload", ["a\0b", float("inf"), {1: 2}, "x" * 300_000, {"a": object()}])
def test_what_could_not_be_submitted_is_refused_and_the_entry_stays(payload, dead):
    before = row(dead)
    with pytest.raises(BadInput) as refusal:
        replay(dead, payload=payload)
    assert [fault.pointer for fault in refusal.value.errors] == ["#/payload"]
    assert row(dead) == before
    assert not Entry.objects.exists()


def test_a_type_that_the_queue_does_not_take_any_more_gets_no_new_payload(queue, dead):
    queue.allowed_types = ["pong"]
    queue.save()
    with pytest.raises(BadInput, match="does not take"):
        replay(dead, payload={})
    replay(dead)  # as it is, it was taken once
    assert look(dead).state == "queued"


@pytest.mark.parametrize("how", ["queued", "running", "completed"])
def test_only_a_dead_letter_can_be_edited(how, queue, session):
    job_id = enqueue(queue, payload='{"a": 1}')
    if how != "queued":
        taken = take_one(session, queue)
        if how == "completed":
            finish(session, taken)
    before = row(job_id)
    with pytest.raises(IllegalMove, match=how):
        replay(job_id, payload={"a": 2})
    assert row(job_id) == before
    assert not Entry.objects.exists()


def test_a_payload_that_is_kept_keeps_every_digit(queue, session):
    exact = '{"long": 123456789012345678901234567890.12345678901234567890}'
    job_id = enqueue(queue, payload=exact)
    fail_for_good(session, queue, job_id)
    replay(job_id)
    assert run("SELECT payload::text FROM jobs_job_live WHERE id = %s", [job_id]) == [(exact,)]
