"""The page of a project's line: what is pending, and what each worker has."""

from apps.jobs.models import Workflow
from tests import acts
from tests.api.test_line import put
from tests.pages.looks import elements_of, text_of


def test_what_waits_and_what_runs_stand_apart(viewer, queue, session):
    acts.enqueue(queue, type="runs")
    acts.take(session, queue, offers={"runs": None})
    acts.enqueue(queue, type="waits", priority=7)
    page = text_of(viewer.get("/line"))
    pending, worker = page.split(session.worker.uid)[0], page.split(session.worker.uid)[1]
    assert "waits" in pending
    assert " 7 1 " in pending  # its priority and its place
    assert "runs" not in pending
    assert "live" in worker
    assert "runs" in worker


def test_a_workflow_is_one_line_of_its_name(viewer, queue):
    workflow = Workflow.objects.create(project=queue.project, name="spring & summer")
    for _ in range(3):
        put(acts.enqueue(queue), workflow_id=workflow.pk)
    page = viewer.get("/line")
    assert text_of(page).count("spring & summer") == 1
    assert sum(tag == "tr" for tag, _ in elements_of(page)) == 2  # the head and the line


def test_the_page_asks_for_its_part_again(viewer, queue):
    acts.enqueue(queue, type="waits")
    page = viewer.get("/line", headers={"HX-Request": "true", "HX-Target": "line"})
    assert "waits" in text_of(page)
    assert "<html" not in page.content.decode()


def test_an_empty_project_says_so(viewer, queue):
    assert "Nothing waits" in text_of(viewer.get("/line"))
