"""Replay: a dead letter runs again as a new generation; its history stays, its key must be free."""

import pytest
from uuid_utils.compat import uuid7

from apps.errors import IllegalMove, KeyTaken, NotFound
from apps.jobs import services
from tests.acts import enqueue, finish, take, take_one
from tests.jobs.looks import ANN, as_if_tried, fail_for_good, ledger, look, row, run, state, told


def replay(job_id, **how):
    services.replay(job_id=job_id, actor=ANN, **how)


def test_it_starts_again_with_nothing_spent(queue, session):
    job_id = enqueue(queue, max_attempts=3)
    as_if_tried(job_id, 2)
    run("UPDATE jobs_job_live SET losses = 1, snoozes = 2, releases = 3")
    finish(session, take_one(session, queue), outcome="retryable_error")
    dead = look(job_id)
    assert (dead.state, dead.attempt) == ("dead_letter", 3)
    replay(job_id)
    job = look(job_id)
    assert (job.state, job.generation, job.reason, job.result) == ("queued", 2, None, None)
    assert (job.attempt, job.losses, job.snoozes, job.releases, job.pending) == (0, 0, 0, 0, 0)
    assert job.finished_at is job.started_at is job.deadline_at is job.session_id is job.shelved_on is None


def test_what_was_asked_of_it_stays(queue, session):
    job = services.submit(
        queue=queue, type="ping", payload={"a": 1}, priority=7, timeout_ms=5, max_attempts=2, max_losses=2,
        unique_key="k", labels={"b": "c"}, submitted_by=uuid7(), on_parent_failure="run",
    )  # fmt: skip
    run("UPDATE jobs_job_live SET workflow_id = %(id)s, batch_id = %(id)s, schedule_id = %(id)s", {"id": uuid7()})
    before = row(job.id)
    fail_for_good(session, queue, job.id)
    replay(job.id)
    after = row(job.id)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"generation", "fence", "run_at", "rank"}


def test_its_history_stays_and_goes_on(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    replay(job_id)
    taken = take_one(session, queue)
    assert (taken.attempt, taken.generation) == (1, 2)
    finish(session, taken)
    entries = [(entry.generation, entry.attempt, entry.outcome) for entry in ledger(job_id)]
    assert entries == [(1, 1, "permanent_error"), (2, 1, "success")]
    assert state(job_id) == "completed"


def test_its_fence_grows_on(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    dead = look(job_id).fence
    replay(job_id)
    assert look(job_id).fence == dead
    assert take_one(session, queue).fence > dead


def test_it_takes_its_place_by_the_time_of_the_replay(queue, session):
    job_id = enqueue(queue, priority=1)
    fail_for_good(session, queue, job_id)
    before = enqueue(queue, priority=1)
    replay(job_id)
    after = enqueue(queue, priority=1)
    assert [take_one(session, queue).job_id for _ in range(3)] == [before, job_id, after]


def test_it_is_told(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    replay(job_id)
    [fact] = told("job.replayed")
    assert (fact.job_ids, fact.state) == ([job_id], "queued")


def test_it_can_die_and_be_replayed_fifty_times(queue, session):
    job_id = enqueue(queue)
    for _ in range(50):
        fail_for_good(session, queue, job_id)
        replay(job_id)
    assert look(job_id).generation == 51
    assert len(ledger(job_id)) == 50


@pytest.mark.parametrize("how", ["queued", "running", "completed", "cancelled", "retry_wait"])
def test_a_job_in_any_other_state_is_refused_by_its_name(queue, session, how):
    job_id = enqueue(queue)
    if how != "queued":
        taken = take_one(session, queue)
        outcomes = {"completed": "success", "cancelled": "cancelled", "retry_wait": "retryable_error"}
        if how in outcomes:
            finish(session, taken, outcome=outcomes[how])
    before = row(job_id)
    with pytest.raises(IllegalMove, match=how):
        replay(job_id)
    assert row(job_id) == before


def test_a_second_replay_is_refused(queue, session):
    job_id = enqueue(queue)
    fail_for_good(session, queue, job_id)
    replay(job_id)
    with pytest.raises(IllegalMove, match="queued"):
        replay(job_id)
    assert len(take(session, queue)) == 1


def test_a_job_nobody_knows_is_not_found(db):
    with pytest.raises(NotFound):
        replay(uuid7())


def test_a_key_that_a_live_job_holds_is_named_and_the_dead_letter_stays(queue, session):
    job_id = enqueue(queue, unique_key="k")
    fail_for_good(session, queue, job_id)
    holder = enqueue(queue, unique_key="k")
    before = row(job_id)
    with pytest.raises(KeyTaken, match=str(holder)) as refusal:
        replay(job_id)
    assert refusal.value.extra == {"job_id": str(holder)}
    assert row(job_id) == before
    finish(session, take_one(session, queue))
    replay(job_id)
    assert state(job_id) == "queued"


def test_of_two_dead_letters_with_one_key_one_can_live(queue, session):
    dead = []
    for _ in range(2):
        dead.append(enqueue(queue, unique_key="k"))
        fail_for_good(session, queue, dead[-1])
    replay(dead[0])
    with pytest.raises(KeyTaken, match=str(dead[0])):
        replay(dead[1])
