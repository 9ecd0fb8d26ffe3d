"""What people do to a whole workflow: cancel, pause, resume, retry; each is recorded and told."""

import pytest

from apps.audit.models import Entry
from apps.errors import IllegalMove
from apps.jobs import services
from apps.jobs.models import Workflow
from apps.jobs.selectors.why import why_waiting
from tests.acts import enqueue, finish, make_due, take, take_one
from tests.jobs.looks import ANN, come_round, let_lapse, look, reap_all, reason, state
from tests.jobs.schedules import said
from tests.jobs.workflows import again, begin, standing, states, step, work

PAIR: dict[str, list[str]] = {"a": [], "b": ["a"]}
VERBS = {
    "cancel": services.cancel_workflow,
    "pause": services.pause_workflow,
    "resume": services.resume_workflow,
    "retry": services.retry_workflow,
    "run_next": services.run_workflow_next,
    "move": lambda **who: services.move_workflow(to="top", **who),
    "priority": lambda **who: services.set_workflow_priority(priority=3, **who),
}


def act(verb: str, workflow: Workflow, **more: object) -> Workflow:
    return VERBS[verb](workflow=workflow, actor=ANN, **more)  # type: ignore[no-any-return, operator]


def recorded(workflow):
    return list(
        Entry.objects.filter(target_id=str(workflow.pk)).order_by("id").values_list("action", "before", "after")
    )


# Cancel.


def test_a_cancel_ends_what_waits_and_asks_what_runs_to_stop(queue, session):
    film = begin(queue)
    taken = take_one(session, queue)
    act("cancel", film)
    assert states(film) == {
        **dict.fromkeys(["voice", "images", "video", "compositing"], "cancelled"),
        "script": "running",
    }
    assert look(step(film, "script")).cancel_requested_at
    assert standing(film) == "cancelling"
    finish(session, taken)
    assert (state(taken.job_id), standing(film)) == ("cancelled", "cancelled")
    [(action, before, after)] = recorded(film)
    assert (action, before["cancelled_at"], after["cancelled"], after["cancelling"]) == ("workflow.cancel", None, 4, 1)
    assert said("workflow.cancelled")[0]["workflow"] == str(film.pk)


def test_by_force_it_ends_what_runs_too_and_fences_its_worker(queue, session):
    film = begin(queue)
    taken = take_one(session, queue)
    act("cancel", film, force=True)
    assert set(states(film).values()) == {"cancelled"}
    assert finish(session, taken) == []
    assert standing(film) == "cancelled"


def test_a_cancel_may_be_repeated_by_force_while_something_runs_and_not_after_the_end(queue, session):
    film = begin(queue)
    take_one(session, queue)
    act("cancel", film)
    first = again(film).cancelled_at
    act("cancel", film, force=True)
    assert again(film).cancelled_at == first
    with pytest.raises(IllegalMove):
        act("cancel", film)


def test_children_outside_hear_of_the_end_of_their_parents(queue):
    film = begin(queue, PAIR)
    child, other = (enqueue(queue, depends_on=[step(film, "b")], on_parent_failure=way) for way in ("cancel", "run"))
    act("cancel", film)
    assert [(state(one), reason(one)) for one in (child, other)] == [("cancelled", "parent_failed"), ("queued", None)]


@pytest.mark.parametrize("verb", ["pause", "retry", "priority"])
def test_nothing_more_is_done_to_a_cancelled_one(queue, session, verb):
    film = begin(queue)
    take_one(session, queue)
    act("cancel", film)
    with pytest.raises(IllegalMove, match="was cancelled"):
        act(verb, film)


# Pause and resume.


def test_nothing_of_a_paused_one_starts_and_all_goes_on_from_where_it_was(queue, session):
    film = begin(queue, {**PAIR, "later": []})
    services.reschedule(job_id=step(film, "later"), actor=ANN, delay_seconds=3600)
    act("pause", film)
    assert set(states(film).values()) == {"paused"}
    assert take(session, queue) == []
    assert standing(film) == "paused"
    make_due(step(film, "later"))
    act("resume", film)
    assert states(film) == {"a": "queued", "b": "blocked", "later": "queued"}
    assert sorted(work(session, queue)) == ["a", "b", "later"]
    assert [action for action, *_ in recorded(film)] == ["workflow.pause", "workflow.resume"]


def test_what_runs_goes_on_to_its_end_and_wakes_nobody_until_it_is_resumed(queue, session):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    act("pause", film)
    assert states(film) == {"a": "running", "b": "paused"}
    finish(session, taken)
    assert (states(film), take(session, queue)) == ({"a": "completed", "b": "paused"}, [])
    act("resume", film)
    assert states(film)["b"] == "queued"


@pytest.mark.parametrize(
    ("outcome", "goes_on"),
    [
        ("retryable_error", "retry_wait"),
        ("snoozed", "scheduled"),
        ("released", "queued"),
        ("needs_approval", "awaiting_approval"),
    ],
)
def test_what_runs_and_must_run_again_waits_for_the_resume(queue, session, outcome, goes_on):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    act("pause", film)
    finish(session, taken, outcome=outcome, delay_ms=3_600_000 if goes_on in ("retry_wait", "scheduled") else None)
    assert (state(taken.job_id), look(taken.job_id).resume_state) == ("paused", goes_on)
    act("resume", film)
    assert (state(taken.job_id), look(taken.job_id).resume_state) == (goes_on, None)


def test_what_is_lost_while_it_is_paused_is_not_tried_again_before_the_resume(queue, session):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    act("pause", film)
    let_lapse(session)
    assert [one.state for one in reap_all()] == ["paused"]
    act("resume", film)
    come_round(taken.job_id)
    assert state(taken.job_id) == "queued"


def test_a_resume_leaves_no_mark_on_what_runs(queue, session):
    film = begin(queue, PAIR)
    taken = take_one(session, queue)
    act("pause", film)
    act("resume", film)
    assert look(taken.job_id).resume_state is None
    finish(session, taken, outcome="released")
    assert state(taken.job_id) == "queued"


def test_a_job_of_a_paused_workflow_is_not_resumed_or_replayed_alone(queue, session):
    film = begin(queue, {"a": [], "b": []})
    work(session, queue, only=1, fail=["a"])
    act("pause", film)
    with pytest.raises(IllegalMove, match="workflow is paused"):
        services.resume_job(job_id=step(film, "b"), actor=ANN)
    services.replay(job_id=step(film, "a"), actor=ANN)
    assert states(film) == {"a": "paused", "b": "paused"}
    act("resume", film)
    assert sorted(work(session, queue)) == ["a", "b"]


def test_a_pause_of_what_is_paused_keeps_its_time_and_a_resume_of_what_is_not_is_refused(queue):
    film = begin(queue)
    with pytest.raises(IllegalMove):
        act("resume", film)
    act("pause", film)
    first = again(film).paused_at
    act("pause", film)
    assert again(film).paused_at == first


def test_a_job_of_a_paused_workflow_says_who_held_that_and_why(queue):
    film = begin(queue, PAIR)
    act("pause", film, reason="the customer asked")
    waiting = why_waiting(look(step(film, "a")))
    assert waiting is not None
    assert (waiting.gates[0].by, "the customer asked" in waiting.says) == (ANN.name, True)


# Retry.


def test_a_retry_runs_only_what_failed_and_what_that_took_down(queue, session):
    film = begin(queue)
    assert work(session, queue, fail=["images"]) == ["script", "voice", "images"]
    assert standing(film) == "failed"
    voice, images = look(step(film, "voice")), step(film, "images")
    act("retry", film)
    assert states(film) == {
        "script": "completed",
        "voice": "completed",
        "images": "queued",
        "video": "blocked",
        "compositing": "blocked",
    }
    assert (look(images).attempt, look(images).generation) == (0, 2)
    assert work(session, queue) == ["images", "video", "compositing"]
    assert standing(film) == "completed"
    assert look(voice.pk).finished_at == voice.finished_at
    assert (again(film).generation, recorded(film)[0][2]) == (1, {"jobs": [str(images)]})


def test_a_retry_leaves_what_a_person_cancelled(queue, session):
    film = begin(queue, {"a": [], "b": [], "c": ["b"]})
    work(session, queue, fail=["a"], only=1)
    services.cancel(job_id=step(film, "b"), actor=ANN)
    act("retry", film)
    assert states(film) == {"a": "queued", "b": "cancelled", "c": "cancelled"}


def test_a_retry_where_nothing_failed_is_refused(queue, session):
    film = begin(queue)
    with pytest.raises(IllegalMove, match="Nothing of this workflow has failed"):
        act("retry", film)
    work(session, queue)
    with pytest.raises(IllegalMove):
        act("retry", film)


def test_a_retry_in_a_paused_workflow_waits_for_the_resume(queue, session):
    film = begin(queue, {"a": [], "b": ["a"], "c": []})
    work(session, queue, fail=["a"], only=1)
    act("pause", film)
    act("retry", film)
    assert set(states(film).values()) == {"paused"}
    act("resume", film)
    assert states(film) == {"a": "queued", "b": "blocked", "c": "queued"}


def test_a_dead_letter_of_a_cancelled_workflow_is_not_replayed_alone_or_in_bulk(queue, session):
    film = begin(queue, {"a": [], "b": []})
    work(session, queue, fail=["a"], only=1)
    act("cancel", film)
    with pytest.raises(IllegalMove, match="was cancelled"):
        services.replay(job_id=step(film, "a"), actor=ANN)
    done = services.replay_queue(queue=queue, actor=ANN)
    assert (done.replayed, done.skipped) == (0, [step(film, "a")])
