"""What is submitted for how many pictures, and how long it is watched."""

from typing import Any

import pytest

from apps.demo.services import pipeline as pipelines
from apps.demo.services.cast import Cast
from apps.demo.services.pipeline import Pipeline, Python, Stalled, submit, watch
from apps.jobs.models import Dependency, Job
from apps.jobs.states import FINAL, JobState
from tests.acts import finish, take


@pytest.fixture
def door(queue, user) -> Python:
    return Python(Cast(queue=queue, path="acme/media/images", member=user, logins=[]))


def test_more_pictures_than_fit_one_call_get_a_workflow_for_each_part(door, settings):
    settings.BATCH_MAX = 4
    made = submit(door, [f"mine/{number}.jpg" for number in range(5)])
    assert (len(made.workflows), len(made.shown["contact sheet"]), made.jobs) == (3, 3, 11)
    for workflow, sheet, size in zip(made.workflows, made.shown["contact sheet"], (2, 2, 1), strict=True):
        parents = set(Dependency.objects.filter(child_id=sheet).values_list("parent_id", flat=True))
        mine = Job.objects.filter(workflow_id=workflow, type="image.thumbnail")
        assert parents == set(mine.values_list("id", flat=True))
        assert len(parents) == size
    assert made.states() == {"queued": 5, "blocked": 6}


def work_in(queue, session, looks):
    """Every look, what there is to do is done; the first thumbnail fails for good."""
    offers: dict[str, int | None] = {"image.thumbnail": None, "image.contact_sheet": None, "image.publish": None}
    outcomes = iter(["permanent_error"])

    def work(states: object) -> None:
        looks.append(states)
        for claim in take(session, queue, offers=offers):
            finish(session, claim, outcome=next(outcomes, "success"))

    return work


def test_it_is_watched_until_only_somebodys_word_is_missing(door, queue, session, monkeypatch):
    monkeypatch.setattr(pipelines, "LOOK_EVERY", 0)
    made = submit(door, ["mine/a.jpg", "mine/b.jpg"])
    looks: list[Any] = []
    over = {*FINAL, JobState.AWAITING_APPROVAL}
    assert watch(made, work_in(queue, session, looks), over=over) == {
        "completed": 2,
        "dead_letter": 1,
        "awaiting_approval": 1,
    }
    assert looks[0] == {"queued": 2, "blocked": 2}


def test_with_somebody_to_ask_it_is_watched_to_its_end(door, queue, session, monkeypatch):
    monkeypatch.setattr(pipelines, "LOOK_EVERY", 0)
    made = submit(door, ["mine/a.jpg", "mine/b.jpg"])
    work = work_in(queue, session, [])

    def look(states) -> None:
        work(states)
        if states[JobState.AWAITING_APPROVAL]:
            door.approve(made)

    assert watch(made, look) == {"completed": 3, "dead_letter": 1}


def test_what_does_not_move_is_not_watched_for_ever(door, monkeypatch):
    monkeypatch.setattr(pipelines, "LOOK_EVERY", 0)
    monkeypatch.setattr(pipelines, "STALLED", 0)
    with pytest.raises(Stalled, match="queued"):
        watch(submit(door, ["mine/a.jpg"]), lambda states: None)
    assert watch(Pipeline(), lambda states: None) == {}
