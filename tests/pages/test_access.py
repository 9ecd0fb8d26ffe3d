"""Who may see and do what, proved by walking every page there is."""

import uuid

import pytest
from django.urls import reverse

from apps.accounts.models import Role
from apps.audit.models import Entry
from apps.dashboard.urls import urlpatterns
from apps.jobs.models import Schedule, Workflow
from apps.jobs.selectors import find
from apps.jobs.services import reserve, submit_batch
from apps.queues.models import Queue
from apps.workers.models import Reservation
from tests import acts
from tests.jobs.looks import ANN
from tests.jobs.schedules import make_schedule
from tests.jobs.workflows import begin, states
from tests.pages.looks import text_of

# Each page and what its address needs. A new one without a line here fails, so that nobody forgets.
READS = {
    "home": (),
    "moved": (),
    "jobs": (),
    "workers": (),
    "dead_letters": (),
    "job": ("job",),
    "queue": ("queue",),
    "schedules": (),
    "line": (),
    "schedule": ("schedule",),
    "workflows": (),
    "workflow": ("workflow",),
    "batch": ("batch",),
}
WRITES = {
    "cancel": ("job", Role.MEMBER),
    "retry": ("job", Role.MEMBER),
    "replay": ("job", Role.MEMBER),
    "discard": ("job", Role.ADMIN),
    "pause": ("queue", Role.MEMBER),
    "resume": ("queue", Role.MEMBER),
    "replay_queue": ("queue", Role.MEMBER),
    "purge": ("queue", Role.ADMIN),
    "duplicate": ("job", Role.MEMBER),
    "approve": ("job", Role.MEMBER),
    "reject": ("job", Role.MEMBER),
    "pause_job": ("job", Role.MEMBER),
    "resume_job": ("job", Role.MEMBER),
    "move": ("job", Role.MEMBER),
    "run_next": ("job", Role.MEMBER),
    "priority": ("job", Role.MEMBER),
    "reschedule": ("job", Role.MEMBER),
    "reassign": ("job", Role.MEMBER),
    "breaker": ("queue", Role.MEMBER),
    "pause_type": ("queue", Role.MEMBER),
    "resume_type": ("queue", Role.MEMBER),
    "pause_schedule": ("schedule", Role.MEMBER),
    "resume_schedule": ("schedule", Role.MEMBER),
    "run_schedule": ("schedule", Role.MEMBER),
    "cancel_workflow": ("workflow", Role.MEMBER),
    "pause_workflow": ("workflow", Role.MEMBER),
    "resume_workflow": ("workflow", Role.MEMBER),
    "retry_workflow": ("workflow", Role.MEMBER),
    "priority_workflow": ("workflow", Role.MEMBER),
    "move_workflow": ("workflow", Role.MEMBER),
    "run_workflow_next": ("workflow", Role.MEMBER),
    "reassign_workflow": ("workflow", Role.MEMBER),
    "cancel_batch": ("batch", Role.MEMBER),
    "release": ("reservation", Role.ADMIN),
}


@pytest.fixture
def things(queue) -> dict[str, uuid.UUID]:
    return {
        "job": acts.enqueue(queue),
        "queue": queue.pk,
        "schedule": make_schedule(queue).pk,
        "workflow": begin(queue).pk,
        "batch": submit_batch(queue=queue, jobs=[{"type": "ping"}]).batch.pk,
        "reservation": reserve(workflow_id=begin(queue).pk, actor=ANN).pk,
    }


def address(name: str, things) -> str:
    needs = READS.get(name) or WRITES.get(name, ())[:1]
    return reverse(f"dashboard:{name}", args=[things[kind] for kind in needs])


def test_every_page_is_listed_here():
    assert {pattern.name for pattern in urlpatterns} == READS.keys() | WRITES.keys()


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_nobody_enters_without_logging_in(name, things, client):
    method = client.post if name in WRITES else client.get
    assert method(address(name, things))["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("name", [name for name, needs in READS.items() if needs])
def test_what_is_not_yours_is_not_there(name, things, stranger):
    theirs = stranger.get(address(name, things))
    nobodys = stranger.get(reverse(f"dashboard:{name}", args=[_uuid7()]))
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.content == nobodys.content


@pytest.mark.parametrize("name", ["home", "moved", "jobs", "line", "workers", "dead_letters", "schedules", "workflows"])
def test_a_list_of_somebody_elses_project_is_not_there(name, things, stranger, project):
    assert stranger.get(reverse(f"dashboard:{name}"), {"project": str(project.pk)}).status_code == 404


@pytest.mark.parametrize("name", WRITES)
def test_a_stranger_changes_nothing(name, things, stranger):
    assert stranger.post(address(name, things)).status_code == 404
    _assert_untouched(things)


@pytest.mark.parametrize("name", WRITES)
def test_looking_changes_nothing(name, things, admin):
    assert admin.get(address(name, things)).status_code == 405
    _assert_untouched(things)


@pytest.mark.parametrize("name", WRITES)
def test_a_role_too_low_is_told_so(name, things, enter):
    least = WRITES[name][1]
    for role in Role:
        status = enter(role).post(address(name, things)).status_code
        assert (status == 403) == (role.level < least.level), role


@pytest.mark.parametrize("name", WRITES)
def test_a_form_from_another_site_is_refused(name, things, member):
    member.handler.enforce_csrf_checks = True
    assert member.post(address(name, things)).status_code == 403
    _assert_untouched(things)


@pytest.mark.parametrize("name", READS)
def test_no_cache_keeps_a_page_and_no_script_of_others_runs_in_it(name, things, viewer):
    response = viewer.get(address(name, things))
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "object-src 'none'" in policy
    body = response.content.decode()
    assert " style=" not in body
    assert "<script>" not in body
    assert " onclick=" not in body


def test_a_role_taken_away_counts_at_once(enter, things, queue):
    browser = enter(Role.ADMIN)
    assert browser.get(address("queue", things)).status_code == 200
    queue.project.organization.memberships.all().delete()
    assert browser.get(address("queue", things)).status_code == 404


def test_a_viewer_is_not_offered_what_they_may_not_do(viewer, things):
    for name in ("home", "job", "queue", "schedules", "schedule", "workflows", "workflow", "batch"):
        page = viewer.get(address(name, things)).content.decode()
        assert "/cancel" not in page
        assert "/pause" not in page


def test_after_a_change_nobody_is_led_to_another_site(member, things):
    response = member.post(address("pause", things), {"next": "https://evil.example/"})
    assert response["Location"] == address("queue", things)


def test_what_a_member_does_is_written_down_with_their_name(member, things, queue):
    member.post(address("pause", things), {"reason": "moving house"})
    entry = Entry.objects.get(target_id=str(queue.pk))
    assert entry.action == "queue.pause"
    assert entry.address == "127.0.0.1"
    assert entry.actor.endswith("@example.com")
    assert entry.request_id
    assert "moving house" in text_of(member.get(address("queue", things)))


def _assert_untouched(things) -> None:
    assert find(things["job"]).state == "queued"
    assert set(states(Workflow.objects.get(pk=things["workflow"])).values()) == {"queued", "blocked"}
    schedule = Schedule.objects.get(pk=things["schedule"])
    assert (schedule.paused_at, schedule.last_job_id) == (None, None)
    assert Queue.objects.get(pk=things["queue"]).paused_at is None
    assert Reservation.objects.get(pk=things["reservation"]).state == "pending"


def _uuid7() -> uuid.UUID:
    from uuid_utils.compat import uuid7

    return uuid7()
