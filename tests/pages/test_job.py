"""A job's page: where it stands, how it got there, and the way on."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Role
from apps.audit.record import Actor
from apps.jobs.models import JobLog, Progress
from apps.jobs.selectors import find
from apps.queues import services as queues
from tests import acts
from tests.pages.looks import elements_of, text_of


def page(browser, job_id):
    return browser.get(reverse("dashboard:job", args=[job_id]))


def post(browser, verb, job_id, **data):
    return browser.post(reverse(f"dashboard:{verb}", args=[job_id]), data, follow=True)


def test_a_waiting_job_says_its_place_in_line(viewer, queue):
    acts.enqueue(queue)
    assert "number 2 in line" in text_of(page(viewer, acts.enqueue(queue)))


def test_a_waiting_job_says_why_gate_by_gate(viewer, queue):
    job_id = acts.enqueue(queue)
    queues.pause(queue=queue, actor=Actor(name="ann@example.com"), reason="the printer burns")
    gates = [attrs["data-gate"] for _, attrs in elements_of(page(viewer, job_id)) if "data-gate" in attrs]
    assert gates == ["queue_paused", "no_worker", "in_line"]
    assert "paused by ann@example.com" in text_of(page(viewer, job_id))


def test_a_running_job_says_where_and_how_far(viewer, queue, session):
    job_id = acts.enqueue(queue)
    taken = acts.take_one(session, queue)
    Progress.objects.create(
        job_id=job_id, fence=find(job_id).fence, attempt=1, stage="rendering", done=318, total=412, at=timezone.now()
    )
    JobLog.objects.create(
        job_id=job_id, fence=taken.fence, line=1, at=timezone.now(), attempt=1, level="info", message="half of it"
    )
    response = page(viewer, job_id)
    seen = text_of(response)
    assert f"attempt 1 of 5 on {session.worker.uid}" in seen
    assert "318 of 412" in seen
    assert "half of it" in seen
    [bar] = [attrs for tag, attrs in elements_of(response) if tag == "progress"]
    assert (bar["value"], bar["max"]) == ("318", "412")


def test_every_attempt_is_shown_with_its_error_and_traceback(viewer, queue, session):
    job_id = acts.enqueue(queue)
    error = {"error_class": "TimeoutError", "error_message": "no answer", "traceback": "File handlers.py, line 41"}
    acts.finish(session, acts.take_one(session, queue), outcome="retryable_error", **error)
    acts.make_due(job_id)
    seen = text_of(page(viewer, job_id))
    assert "will retry" in seen
    assert "TimeoutError : no answer" in seen
    assert "File handlers.py, line 41" in seen
    assert "Attempt 1: retryable error" in seen


@pytest.mark.parametrize("outcome", ["success", "permanent_error"])
def test_a_job_that_has_ended_is_found_on_its_shelf(outcome, viewer, queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome=outcome)
    seen = text_of(page(viewer, job_id))
    assert ("completed" if outcome == "success" else "dead letter") in seen


def test_numbers_keep_every_digit(viewer, queue):
    exact = '{"big": 9007199254740993, "long": 123456789012345678901234567890.12345678901234567890}'
    seen = text_of(page(viewer, acts.enqueue(queue, payload=exact)))
    assert "9007199254740993" in seen
    assert "123456789012345678901234567890.12345678901234567890" in seen


@pytest.mark.parametrize(("where", "least"), [("project", Role.MEMBER), ("queue", Role.ADMIN)])
def test_payloads_are_hidden_below_a_role(where, least, enter, queue, settings, tmp_path):
    row = queue if where == "queue" else queue.project
    row.hide_payloads_below = least
    row.save()
    settings.RESULTS_DIR = tmp_path
    job_id = acts.enqueue(queue, payload=json.dumps({"secret": "marmalade"}))
    (tmp_path / str(job_id)).mkdir()
    (tmp_path / str(job_id) / "marmalade.pdf").write_bytes(b"%PDF")
    for role in Role:
        seen = text_of(page(enter(role), job_id))
        assert ("marmalade" in seen) == (role.level >= least.level), role
        assert (f"not shown to the role {role.value}" in seen) == (role.level < least.level)


def test_result_files_can_be_opened_and_images_are_seen(viewer, queue, settings, tmp_path):
    settings.RESULTS_DIR = tmp_path
    job_id = acts.enqueue(queue)
    (tmp_path / str(job_id)).mkdir()
    (tmp_path / str(job_id) / "a b#?.png").write_bytes(b"png")
    (tmp_path / str(job_id) / "notes.txt").write_bytes(b"12345")
    found = elements_of(page(viewer, job_id))
    links = [attrs["href"] for tag, attrs in found if tag == "a" and "/files/" in (attrs.get("href") or "")]
    images = [attrs["src"] for tag, attrs in found if tag == "img" and "/files/" in (attrs.get("src") or "")]
    assert links == [f"/api/v1/jobs/{job_id}/files/a%20b%23%3F.png", f"/api/v1/jobs/{job_id}/files/notes.txt"]
    assert images == links[:1]


def test_parents_and_children_lead_to_each_other(viewer, queue):
    parent = acts.enqueue(queue, type="the.parent")
    child = acts.enqueue(queue, type="the.child", depends_on=[parent])
    assert "Waited for by 1 the.child" in text_of(page(viewer, parent))
    assert "Waits for 1 the.parent" in text_of(page(viewer, child))


def test_only_the_verbs_that_apply_are_offered(member, admin, queue, session):
    def offers(job_id, to=member):
        seen = page(to, job_id).content.decode()
        return {verb for verb in ("cancel", "retry", "replay", "discard") if f"/jobs/{job_id}/{verb}" in seen}

    done, dead, failed = (acts.enqueue(queue) for _ in range(3))
    first, second, third = acts.take(session, queue)
    acts.finish(session, first)
    acts.finish(session, second, outcome="permanent_error")
    acts.finish(session, third, outcome="retryable_error")
    waiting = acts.enqueue(queue)
    assert offers(done) == set()
    assert offers(dead) == {"replay"}
    assert offers(dead, to=admin) == {"replay", "discard"}
    assert offers(failed) == {"cancel", "retry"}
    assert offers(waiting) == {"cancel"}


def test_a_waiting_job_is_cancelled(member, queue):
    job_id = acts.enqueue(queue)
    assert "Cancelled." in text_of(post(member, "cancel", job_id))
    assert find(job_id).state == "cancelled"


def test_a_running_job_is_asked_to_stop(member, queue, session):
    job_id = acts.enqueue(queue)
    acts.take_one(session, queue)
    assert "cancelling since" in text_of(post(member, "cancel", job_id))
    assert find(job_id).cancel_requested_at is not None


def test_a_job_that_waits_for_its_retry_is_run_now(member, queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="retryable_error")
    post(member, "retry", job_id)
    assert find(job_id).state == "queued"


def test_a_dead_letter_is_replayed_with_its_history(member, queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error", error_class="ValueError")
    seen = text_of(post(member, "replay", job_id))
    assert find(job_id).state == "queued"
    assert "ValueError" in seen
    assert "Replayed 1 time" in seen


def test_a_dead_letter_is_discarded_and_its_list_is_shown(own_database, admin, queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
    assert "Nothing has died here" in text_of(post(admin, "discard", job_id))
    assert page(admin, job_id).status_code == 404


def test_a_refusal_is_said_and_not_a_500(member, queue):
    job_id = acts.enqueue(queue)
    response = post(member, "replay", job_id)
    assert find(job_id).state == "queued"
    assert any("note-bad" in (attrs.get("class") or "") for _, attrs in elements_of(response))
    assert "Replayed" not in text_of(response)
