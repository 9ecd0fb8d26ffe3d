"""Discard: a dead letter goes for good, with an event; its ledger tells of it until that is pruned."""

import pytest
from uuid_utils.compat import uuid7

from apps.errors import IllegalMove, NotFound
from apps.jobs import services
from apps.jobs.models import Job
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import ANN, fail_for_good, ledger, row, state, told_of


def discard(job_id):
    services.discard(job_id=job_id, actor=ANN)


def test_a_dead_letter_goes_and_its_ledger_stays(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    discard(job_id)
    assert not Job.objects.filter(id=job_id).exists()
    assert [entry.outcome for entry in ledger(job_id)] == ["permanent_error"]
    assert told_of(job_id)[-1] == "job.discarded"


def test_what_was_discarded_is_not_found_again(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    discard(job_id)
    for verb in (discard, lambda job_id: services.replay(job_id=job_id, actor=ANN)):
        with pytest.raises(NotFound):
            verb(job_id)


@pytest.mark.parametrize("how", ["queued", "running", "completed", "cancelled"])
def test_a_job_in_any_other_state_is_refused_by_its_name(queue, session, how):
    job_id = enqueue(queue)
    if how != "queued":
        taken = take_one(session, queue)
        if how != "running":
            finish(session, taken, outcome="success" if how == "completed" else "cancelled")
    before = row(job_id)
    with pytest.raises(IllegalMove, match=how):
        discard(job_id)
    assert row(job_id) == before


def test_a_job_nobody_knows_is_not_found(db):
    with pytest.raises(NotFound):
        discard(uuid7())


def test_a_child_that_was_discarded_does_not_stand_in_its_parents_way(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent], on_parent_failure="run")
    fail_for_good(session, queue, parent)
    fail_for_good(session, queue, child)
    discard(child)
    services.replay(job_id=parent, actor=ANN)
    assert state(parent) == "queued"
