"""Staff put jobs in order and hold back queues, types and jobs: by POST, by the services, written down."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.queues.models import PausedType, Queue
from tests import acts
from tests.admin.test_changes import entries, form_of, run
from tests.admin.test_lists import list_of


def line():
    return list(Job.objects.filter(state="queued").order_by("rank", "id").values_list("pk", flat=True))


def press(browser, verb, job_id):
    return browser.post(reverse(f"admin:jobs_job_{verb}", args=[job_id]), follow=True)


def test_a_job_is_paused_resumed_and_put_first_by_its_buttons(console, queue):
    first, job_id = acts.enqueue(queue), acts.enqueue(queue)
    press(console, "pause", job_id)
    assert find(job_id).state == "paused"
    press(console, "resume", job_id)
    press(console, "run_next", job_id)
    assert line() == [job_id, first]
    assert entries(job_id) == ["job.pause", "job.resume", "job.run_next"]


def test_the_buttons_that_apply_are_the_ones_shown(console, queue, session):
    job_id = acts.enqueue(queue)
    page = reverse("admin:jobs_job_change", args=[job_id])
    waiting = console.get(page).content.decode()
    assert f"/{job_id}/pause/" in waiting
    assert f"/{job_id}/resume/" not in waiting
    press(console, "pause", job_id)
    paused = console.get(page).content.decode()
    assert f"/{job_id}/resume/" in paused
    assert f"/{job_id}/run_next/" not in paused


@pytest.mark.parametrize(
    ("action", "then"),
    [
        ("move_to_top", [2, 0, 1, 3]),
        ("move_up", [0, 2, 1, 3]),
        ("move_down", [0, 1, 3, 2]),
        ("move_to_bottom", [0, 1, 3, 2]),
        ("run_next_all", [2, 0, 1, 3]),
    ],
)
def test_actions_move_what_was_chosen(action, then, console, queue):
    jobs = [acts.enqueue(queue) for _ in range(4)]
    run(console, Job, action, jobs[2])
    assert line() == [jobs[place] for place in then]


def test_what_one_job_refuses_the_others_get(console, queue, session):
    running = acts.enqueue(queue)
    acts.take_one(session, queue)
    job_id = acts.enqueue(queue)
    run(console, Job, "pause_all", running, job_id)
    assert (find(running).state, find(job_id).state) == ("running", "paused")
    run(console, Job, "resume_all", running, job_id)
    assert find(job_id).state == "queued"


@pytest.mark.parametrize(
    ("action", "data", "wrong"),
    [("set_priority", {"priority": "7"}, {"priority": "1001"}), ("reschedule", {"minutes": "5"}, {"minutes": "-1"})],
)
def test_a_value_is_asked_for_checked_and_set(action, data, wrong, console, queue):
    job_id = acts.enqueue(queue)
    asked = run(console, Job, action, job_id)
    assert str(job_id) in asked.content.decode()
    assert run(console, Job, action, job_id, confirmed="yes", **wrong).status_code == 200
    assert entries(job_id) == []
    run(console, Job, action, job_id, confirmed="yes", **data)
    job = find(job_id)
    assert (job.priority, job.state) == ((7, "queued") if action == "set_priority" else (0, "scheduled"))
    assert len(entries(job_id)) == 1


def test_queues_are_paused_with_a_reason_and_an_end(console, queue):
    asked = run(console, Queue, "pause_because", queue)
    assert "Until (UTC)" in asked.content.decode()
    end = (timezone.now() + timedelta(hours=1)).replace(microsecond=0)
    run(console, Queue, "pause_because", queue, confirmed="yes", reason="lunch", until=f"{end:%Y-%m-%d %H:%M:%S}")
    held = Queue.objects.get(pk=queue.pk)
    assert (held.pause_reason, held.paused_until) == ("lunch", end)
    assert entries(queue.pk) == ["queue.pause"]


def test_a_type_is_paused_changed_and_resumed(console, queue):
    address = reverse("admin:queues_pausedtype_add")
    console.post(address, form_of(console, address) | {"project": str(queue.project_id), "type": "ping"})
    paused = PausedType.objects.get()
    assert (paused.type, paused.paused_at is None) == ("ping", False)
    page = reverse("admin:queues_pausedtype_change", args=[paused.pk])
    console.post(page, {"pause_reason": "wrong model"})
    assert PausedType.objects.get().pause_reason == "wrong model"
    assert "ping" in console.get(list_of(PausedType)).content.decode()
    console.post(reverse("admin:queues_pausedtype_resume", args=[paused.pk]))
    assert not PausedType.objects.exists()
    assert entries(f"{queue.project_id}/ping") == ["type.pause", "type.pause", "type.resume"]


def test_an_onlooker_steers_nothing(onlooker, queue):
    job_id = acts.enqueue(queue)
    assert press(onlooker, "pause", job_id).status_code == 403
    run(onlooker, Job, "pause_all", job_id)
    run(onlooker, Job, "set_priority", job_id, confirmed="yes", priority="5")
    run(onlooker, Queue, "pause_because", queue, confirmed="yes")
    assert (find(job_id).state, find(job_id).priority, Queue.objects.get().paused_at) == ("queued", 0, None)


def test_a_job_that_waits_for_approval_is_decided_upon_by_its_buttons(console, queue):
    first, second = (acts.enqueue(queue, requires_approval=True) for _ in range(2))
    page = console.get(reverse("admin:jobs_job_change", args=[first])).content.decode()
    assert f"/{first}/approve/" in page
    assert f"/{first}/retry/" not in page
    press(console, "approve", first)
    press(console, "reject", second)
    assert [find(job_id).state for job_id in (first, second)] == ["queued", "cancelled"]
    assert entries(first) == ["job.approve"]


@pytest.mark.parametrize(("action", "then"), [("approve_all", "queued"), ("reject_all", "cancelled")])
def test_many_are_decided_upon_with_a_note_that_is_asked_for(action, then, console, queue):
    jobs = [acts.enqueue(queue, requires_approval=True) for _ in range(2)]
    asked = run(console, Job, action, *jobs)
    assert b'name="note"' in asked.content
    run(console, Job, action, *jobs, note="as agreed", confirmed="1")
    assert {find(job_id).state for job_id in jobs} == {then}
    approvals: list[Any] = [find(job_id).approval for job_id in jobs]
    assert {one["note"] for one in approvals} == {"as agreed"}


def test_jobs_are_duplicated_by_a_button_and_many_by_an_action(console, queue, session):
    done, waiting = acts.enqueue(queue, payload='{"n": 1}'), acts.enqueue(queue, payload='{"n": 2}')
    acts.finish(session, acts.take_one(session, queue))
    page = console.get(reverse("admin:jobs_job_change", args=[done])).content.decode()
    assert f"/{done}/duplicate/" in page
    press(console, "duplicate", done)
    assert entries(done) == ["job.duplicate"]
    run(console, Job, "duplicate_all", done, waiting)
    copies = Job.objects.exclude(pk__in=[done, waiting])
    assert sorted(copy.payload["n"] for copy in copies) == [1, 1, 2]
    assert {copy.state for copy in copies} == {"queued"}
