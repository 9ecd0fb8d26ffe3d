"""Workflows and batches in the admin: looked through, and steered by the same services."""

from django.urls import reverse

from apps.jobs.models import Workflow
from apps.jobs.services import submit_batch
from tests.acts import finish, take_one
from tests.admin.test_changes import entries, run
from tests.admin.test_lists import list_of, page_of
from tests.jobs.workflows import begin, standing, states, work


def press(console, row, verb):
    address = reverse(f"admin:jobs_{row._meta.model_name}_{verb}", args=[row.pk])
    assert console.get(address).status_code == 405
    return console.post(address, follow=True).content.decode()


def test_a_workflow_is_steered_on_its_row(console, queue, session):
    film = begin(queue, name="film")
    for verb, stands in (("pause", "paused"), ("resume", "pending"), ("run_next", "pending")):
        press(console, film, verb)
        assert standing(film) == stands
    assert "has failed" in press(console, film, "retry")
    work(session, queue, fail=["script"])
    press(console, film, "retry")
    assert states(film)["script"] == "queued"
    press(console, film, "cancel")
    assert entries(film.pk) == [f"workflow.{verb}" for verb in ("pause", "resume", "run_next", "retry", "cancel")]


def test_lists_and_pages_tell_where_they_stand(console, queue, session):
    film, batch = begin(queue, name="film"), submit_batch(queue=queue, jobs=[{"type": "ping"}] * 2).batch
    finish(session, take_one(session, queue))
    assert "Running" in console.get(list_of(film)).content.decode()
    for row in (film, batch):
        assert "1 completed" in console.get(page_of(film)).content.decode()
        assert "queued" in console.get(list_of(row)).content.decode()


def test_some_are_seen_to_together_and_one_that_refuses_holds_up_no_other(console, queue):
    films = [begin(queue) for _ in range(2)]
    press(console, films[0], "cancel")
    run(console, Workflow, "pause_all", *films)
    assert [standing(film) for film in films] == ["cancelled", "paused"]
    run(console, Workflow, "resume_all", *films)
    run(console, Workflow, "cancel_all", *films)
    assert [standing(film) for film in films] == ["cancelled", "cancelled"]


def test_a_batch_is_cancelled_on_its_row(console, queue):
    batch = submit_batch(queue=queue, jobs=[{"type": "ping"}]).batch
    press(console, batch, "cancel")
    assert entries(batch.pk) == ["batch.cancel"]
    assert "100.0 %" in console.get(page_of(batch)).content.decode()


def test_no_form_changes_them(console, queue):
    film = begin(queue, name="film")
    console.post(page_of(film), {"name": "other"})
    assert Workflow.objects.get().name == "film"
