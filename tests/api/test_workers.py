"""A worker is shown to those it serves, and taken out of service by those who may."""

import pytest

from apps.accounts.models import Role
from apps.audit.models import Entry, Outbox
from apps.jobs.engine.heartbeat import heartbeat
from apps.workers.models import Worker
from tests import acts
from tests.api.caller import login_of, problem, someone
from tests.factories import MembershipFactory, QueueFactory, SessionFactory, UserFactory, WorkerFactory

pytestmark = pytest.mark.django_db
POOLS = {"default": {"slots": 2}, "media": {"slots": 8, "for": ["others/secret/videos", "type:image.thumbnail"]}}


@pytest.fixture
def own(organization, queue):
    """A worker of the organization's own, serving its queue."""
    worker = WorkerFactory.create(uid="press-1", organization=organization)
    return SessionFactory.create(worker=worker, queues=[queue.pk], pools=POOLS)


def test_a_worker_is_shown_with_your_jobs_alone(viewer, queue, session):
    mine, other = acts.enqueue(queue), QueueFactory.create()
    acts.enqueue(other)
    acts.take_one(session, queue)
    acts.take_one(session, other)
    told = viewer.get(f"workers/{session.worker.uid}").json()
    assert [one["id"] for one in told["jobs"]] == [str(mine)]
    assert (told["held_jobs"], told["state"], told["queues"]) == (1, "live", [str(queue.pk)])


def test_a_worker_that_serves_none_of_yours_is_not_there(viewer, queue):
    elsewhere = QueueFactory.create()
    stranger = SessionFactory.create(queues=[elsewhere.pk])
    theirs = SessionFactory.create(worker=WorkerFactory.create(organization=elsewhere.project.organization))
    for session in (stranger, theirs):
        problem(viewer.get(f"workers/{session.worker.uid}"), 404)
    problem(viewer.get("workers/nobody"), 404)


def test_the_last_session_speaks_for_a_worker(viewer, own):
    SessionFactory.create(worker=own.worker, queues=own.queues, hostname="newer", pid=7)
    assert viewer.get("workers/press-1").json()["hostname"] == "newer"
    acts.fall_silent(own.worker.sessions.get(hostname="newer"))
    assert viewer.get("workers/press-1").json()["state"] == "offline"


def test_they_are_pages_with_each_worker_once_by_its_last_session(viewer, own, queue):
    others = [SessionFactory.create(queues=[queue.pk]).worker.uid for _ in range(4)]
    SessionFactory.create(worker=own.worker, queues=own.queues, hostname="newer")
    page = viewer.get(f"workers?queue={queue.pk}&limit=2").json()
    seen = page["results"]
    while page["next"]:
        page = viewer.get(page["next"].partition("/api/v1/")[2]).json()
        seen += page["results"]
    assert [one["uid"] for one in seen] == [*others[::-1], "press-1"]
    assert seen[-1]["hostname"] == "newer"
    back = viewer.get(page["previous"].partition("/api/v1/")[2]).json()["results"]
    assert [one["uid"] for one in back] == [one["uid"] for one in seen[2:4]]


def test_pools_are_told_without_what_they_are_for(viewer, own, queue):
    [listed] = viewer.get(f"workers?queue={queue.pk}").json()["results"]
    alone = viewer.get("workers/press-1").json()
    for told in (listed, alone):
        assert told["pools"] == {"default": 2, "media": 8}
        assert "secret" not in str(told)


def test_a_drained_worker_hears_of_it_and_it_is_on_record(api, own, queue):
    told = api.post("workers/press-1/drain").json()
    assert (told["state"], told["drained"]) == ("draining", True)
    assert heartbeat(session_id=own.pk, held={}, told=[]).drain
    assert api.post("workers/press-1/drain").json()["drained"]  # once is enough
    told = api.post("workers/press-1/resume").json()
    assert (told["state"], told["drained"]) == ("live", False)
    entries = Entry.objects.order_by("id").values_list("action", "before", "after", "organization_id")
    home = queue.project.organization_id
    assert list(entries) == [
        ("worker.drain", {"drained": False}, {"drained": True}, home),
        ("worker.resume", {"drained": True}, {"drained": False}, home),
    ]
    facts = Outbox.objects.filter(kind__startswith="worker.").order_by("id")
    assert [(one.kind, one.project_id) for one in facts] == [
        ("worker.drained", queue.project_id),
        ("worker.resumed", queue.project_id),
    ]


@pytest.mark.parametrize("verb", ["drain", "resume"])
def test_a_worker_that_serves_others_too_is_steered_by_staff_alone(api, queue, session, organization, verb):
    shared = SessionFactory.create(queues=[queue.pk, QueueFactory.create().pk])
    for one in (session, shared):  # one serves every queue there is
        problem(api.post(f"workers/{one.worker.uid}/{verb}"), 403)
    assert not Worker.objects.exclude(drained_at=None).exists()
    staff = UserFactory.create(is_staff=True)
    MembershipFactory.create(user=staff, organization=organization, role=Role.ADMIN)
    assert login_of(staff).post(f"workers/{shared.worker.uid}/{verb}").status_code == 200


def test_a_shared_worker_that_serves_only_your_queues_is_yours_to_drain(api, queue):
    mine = SessionFactory.create(queues=[queue.pk])
    assert api.post(f"workers/{mine.worker.uid}/drain").json()["drained"]


def test_members_do_not_drain(organization, own):
    problem(someone(organization, Role.MEMBER).post("workers/press-1/drain"), 403)
