"""A remote worker begins and leaves: whose it is, what it serves, and who loses what."""

import pytest

from apps.accounts.models import Role
from apps.jobs.engine.admit import admit
from apps.jobs.engine.cancel import cancel
from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.jobs.services import submit
from apps.queues.models import Queue
from apps.workers.models import Session, Worker
from tests import acts
from tests.api.caller import pointers, problem, someone
from tests.factories import OrganizationFactory, ProjectFactory, QueueFactory, WorkerFactory
from tests.jobs.looks import let_lapse, reap_all
from tests.remote.conftest import api_of, begin

pytestmark = pytest.mark.django_db


def test_a_worker_belongs_to_its_tokens_organization(remote, organization, queue):
    session = Session.objects.get(pk=remote.id)
    assert session.worker.organization == organization
    assert (session.queues, session.types, session.concurrency) == ([queue.pk], ["ping"], 10)
    assert remote.told["heartbeat_seconds"] * 3 == remote.told["lease_seconds"]


def test_a_new_session_of_a_name_fences_the_old_one(api, remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    newer = begin(api)
    assert newer.told["fenced"] == 1
    problem(remote.ask("claim"), 409, "session_over")
    problem(remote.ask("heartbeat", held=[]), 409, "session_over")
    reap_all()
    assert remote.report(job) == [{"job": job["job"], "fence": job["fence"]}]


def test_a_name_of_another_organization_is_refused_without_saying_whose_it_is(api, queue):
    WorkerFactory.create(uid="theirs", organization=OrganizationFactory.create())
    WorkerFactory.create(uid="the house's", organization=None)
    answers = [
        problem(api.post("worker/sessions", {"uid": uid, "types": ["ping"]}), 409, "conflict")["detail"]
        for uid in ("theirs", "the house's")
    ]
    assert answers == ["This worker name is taken."] * 2
    assert Session.objects.count() == 0


def test_queues_are_named_by_id_or_by_project_and_name(api, queue, project):
    other = QueueFactory.create(project=project, name="sounds")
    both = begin(api, queues=["media/images", str(other.pk)])
    assert both.told["queues"] == sorted([str(queue.pk), str(other.pk)])


def test_queues_of_others_are_not_there(api, queue, organization):
    foreign = QueueFactory.create()
    elsewhere = QueueFactory.create(project=ProjectFactory.create(organization=organization))
    body = {
        "uid": "w",
        "types": ["ping"],
        "queues": [str(foreign.pk), "media/images", "media/nothing", str(elsewhere.pk)],
    }
    assert pointers(api.post("worker/sessions", body)) == ["#/queues/0", "#/queues/2"]
    narrow = api_of(organization, queue.project)
    assert pointers(narrow.post("worker/sessions", body)) == ["#/queues/0", "#/queues/2", "#/queues/3"]


def test_a_projects_token_serves_that_projects_queues_alone(api, organization, queue):
    elsewhere = QueueFactory.create(project=ProjectFactory.create(organization=organization))
    narrow = api_of(organization, queue.project)
    assert begin(narrow, "narrow").told["queues"] == [str(queue.pk)]
    wide = begin(api, "wide")
    assert set(wide.told["queues"]) == {str(queue.pk), str(elsewhere.pk)}
    wide.api = narrow
    for verb, body in (("claim", {}), ("heartbeat", {}), ("report", {"results": [_end()]})):
        problem(wide.ask(verb, **body), 404)
    problem(narrow.delete(wide.path), 404)


def test_a_projects_token_takes_no_worker_from_another_project(api, organization, queue):
    QueueFactory.create(project=ProjectFactory.create(organization=organization))
    wide, narrow = begin(api, "shared"), api_of(organization, queue.project)
    body = {"uid": "shared", "types": ["ping"]}
    assert problem(narrow.post("worker/sessions", body), 409, "conflict")["detail"] == "This worker name is taken."
    wide.beat()
    wide.leave()
    assert begin(narrow, "shared").told["fenced"] == 0
    assert begin(narrow, "shared").told["fenced"] == 1


def _end():
    return {"job": "01a22856-3bac-754a-b89f-8e8e9e32e5c7", "fence": "1", "outcome": "success"}


def test_a_session_of_another_organization_is_not_there(remote):
    stranger = api_of(OrganizationFactory.create())
    remote.api = stranger
    for verb, body in (("claim", {}), ("heartbeat", {}), ("report", {"results": [_end()]})):
        problem(remote.ask(verb, **body), 404, "not_found")
    problem(stranger.delete(remote.path), 404, "not_found")


def test_a_member_without_a_token_says_whose_worker_it_is(organization, queue):
    member = someone(organization, Role.MEMBER)
    body = {"uid": "mine", "types": ["ping"]}
    assert pointers(member.post("worker/sessions", body)) == ["#/organization"]
    assert member.post("worker/sessions", {**body, "organization": str(organization.pk)}).status_code == 201


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("uid", ""), ("uid", "x" * 129), ("types", []), ("types", ["x" * 129]), ("queues", []), ("concurrency", 0),
        ("concurrency", 1001), ("lease_seconds", 0.5), ("lease_seconds", 3601), ("version", "v" * 129), ("pid", -1),
        ("capabilities", [1]), ("capabilities", {"a": "x" * 9000}), ("organization", "none"), ("colour", "red"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(api, queue, field, value):
    asked = {"uid": "w", "types": ["ping"], field: value}
    assert [pointer.split("/")[1] for pointer in pointers(api.post("worker/sessions", asked))] == [field]


def test_what_is_cancelled_when_its_worker_leaves_lets_the_next_of_its_key_go(
    remote, queue, django_capture_on_commit_callbacks
):
    Queue.objects.update(max_per_key=1)
    queue.refresh_from_db()
    first, second = (submit(queue=queue, type="ping", concurrency_key="k").pk for _ in range(2))
    admit(keys=[(queue.pk, "k")])
    assert remote.one()["job"] == str(first)
    cancel(job_id=first)
    with django_capture_on_commit_callbacks(execute=True):
        remote.leave()
    assert find(first).state == "cancelled"
    assert not Job.objects.get(pk=second).key_full


def test_who_leaves_hands_back_what_it_runs_and_spends_no_attempt(remote, queue):
    running, waiting = acts.enqueue(queue), acts.enqueue(queue)
    remote.one()
    remote.leave()
    for job_id in (running, waiting):
        job = find(job_id)
        assert (job.state, job.attempt) == ("queued", 0)
    problem(remote.ask("claim"), 409, "session_over")
    remote.leave()


def test_a_silent_one_loses_its_jobs_like_any_other(remote, queue):
    job_id = acts.enqueue(queue)
    job = remote.one()
    let_lapse(Session.objects.get(pk=remote.id))
    problem(remote.ask("claim"), 409, "lease_lost")
    assert [row.outcome for row in reap_all()] == ["lost"]
    assert remote.report(job)
    assert find(job_id).losses == 1


def test_a_worker_that_was_silent_and_lost_nothing_goes_on_after_a_heartbeat(remote, queue):
    acts.enqueue(queue)
    acts.fall_silent(Session.objects.get(pk=remote.id))
    remote.beat()
    assert len(remote.claim()) == 1


def test_an_operator_drains_it(remote, queue):
    acts.enqueue(queue)
    Worker.objects.update(drained_at=Session.objects.get().started_at)
    assert remote.said("claim") == {"jobs": [], "drain": True}
    assert remote.beat()["drain"]


def test_it_drains_by_its_own_word_and_finishes_what_it_runs(remote, queue):
    for _ in range(2):
        acts.enqueue(queue)
    job = remote.one()
    assert remote.beat(job, draining=True)["drain"]
    assert remote.said("claim") == {"jobs": [], "drain": True}
    assert remote.report(job) == []


def test_it_is_listed_like_a_local_one(remote, organization, queue):
    acts.enqueue(queue)
    remote.claim()
    viewer = someone(organization, Role.VIEWER)
    [shown] = viewer.get(f"workers?project={queue.project_id}").json()["results"]
    assert (shown["uid"], shown["state"], shown["held_jobs"]) == ("w1", "live", 1)
    other = ProjectFactory.create(organization=organization)
    assert viewer.get(f"workers?project={other.pk}").json()["results"] == []
