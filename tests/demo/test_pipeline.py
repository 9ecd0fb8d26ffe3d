"""What is submitted for how many pictures, and how long it is watched."""

import pytest

from apps.demo.services import pipeline as pipelines
from apps.demo.services.cast import Cast
from apps.demo.services.pipeline import Pipeline, Python, Stalled, submit, watch
from apps.jobs.models import Dependency, Job
from tests.acts import finish, take


@pytest.fixture
def door(queue, user) -> Python:
    return Python(Cast(queue=queue, path="acme/media/images", member=user, logins=[]))


def test_more_pictures_than_fit_one_batch_get_a_sheet_for_each(door, settings):
    settings.BATCH_MAX = 2
    made = submit(door, [f"mine/{number}.jpg" for number in range(5)])
    assert (len(made.batches), len(made.sheets), made.jobs) == (3, 3, 8)
    for batch, sheet, size in zip(made.batches, made.sheets, (2, 2, 1), strict=True):
        parents = set(Dependency.objects.filter(child_id=sheet).values_list("parent_id", flat=True))
        assert parents == set(Job.objects.filter(batch_id=batch).values_list("id", flat=True))
        assert len(parents) == size
        assert Job.objects.get(pk=sheet).payload == {"batch": str(batch)}
    assert made.states() == {"queued": 5, "blocked": 3}


def test_it_is_watched_until_every_job_has_ended_however(door, queue, session, monkeypatch):
    monkeypatch.setattr(pipelines, "LOOK_EVERY", 0)
    made = submit(door, ["mine/a.jpg", "mine/b.jpg"])
    offers: dict[str, int | None] = {"image.thumbnail": None, "image.contact_sheet": None}
    looks = []

    def work(states: object) -> None:
        looks.append(states)
        outcomes = iter(["permanent_error", "success"])
        for claim in take(session, queue, offers=offers):
            finish(session, claim, outcome=next(outcomes) if claim.type == "image.thumbnail" else "success")

    assert watch(made, work) == {"completed": 2, "dead_letter": 1}
    assert looks[0] == {"queued": 2, "blocked": 1}


def test_what_does_not_move_is_not_watched_for_ever(door, monkeypatch):
    monkeypatch.setattr(pipelines, "LOOK_EVERY", 0)
    monkeypatch.setattr(pipelines, "STALLED", 0)
    with pytest.raises(Stalled, match="queued"):
        watch(submit(door, ["mine/a.jpg"]), lambda states: None)
    assert watch(Pipeline(), lambda states: None) == {}
