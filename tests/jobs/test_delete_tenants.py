"""Projects, organizations and people that go while work runs; what was done stays on record. Case H34."""

from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.models import ApiToken, Membership, Organization, Project, Role, User
from apps.audit.models import Entry
from apps.jobs import services
from apps.jobs.engine import vanish as engine
from apps.jobs.models import Batch, Dependency, Step, Workflow
from apps.queues.models import Queue, RetryPolicy
from apps.workers.models import Reservation, Session
from tests.acts import enqueue, finish, take, take_one
from tests.api.caller import Api, login_of, problem, someone, token_of
from tests.factories import MembershipFactory, QueueFactory, RetryPolicyFactory, SessionFactory, WorkerFactory
from tests.jobs.deletions import carry_out, fill, turn, vanish
from tests.jobs.looks import ANN, state
from tests.jobs.schedules import make_schedule
from tests.jobs.workflows import begin

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(organization) -> Api:
    return someone(organization, Role.OWNER)


@pytest.mark.parametrize("what", ["projects", "orgs"])
def test_it_is_refused_with_the_counts_of_all_its_queues(what, queue, session, owner):
    full = fill(queue, session)
    enqueue(QueueFactory.create(project=queue.project))
    place = queue.project_id if what == "projects" else queue.project.organization_id
    refused = problem(owner.delete(f"{what}/{place}"), 409, "in_use")
    assert refused["counts"] == {**full.counts, "queued": 51}
    assert owner.get(f"queues/{queue.pk}").status_code == 200


def test_a_project_is_gone_with_the_answer_and_its_slug_free(queue, session, owner):
    full = fill(queue, session)
    project, org = queue.project, queue.project.organization_id
    policy = RetryPolicyFactory.create(project=project)
    assert owner.delete(f"projects/{project.pk}?cancel=true").status_code == 204
    assert take(session, queue) == []
    for path in (
        f"projects/{project.pk}",
        f"projects/{project.pk}/queues",
        f"projects/{project.pk}/line",
        f"queues/{queue.pk}",
        f"retry-policies/{policy.pk}",
        f"jobs?project={project.pk}",
        f"jobs/{full.queued[0]}",
        f"workers?project={project.pk}",
    ):
        problem(owner.get(path), 404, "not_found")
    assert owner.get(f"orgs/{org}/projects").json()["results"] == []
    assert owner.post(f"orgs/{org}/projects", {"name": "Media", "slug": project.slug}).status_code == 201


def test_its_rows_go_in_batches_when_what_ran_has_ended(queue, session, owner, monkeypatch):
    monkeypatch.setattr(vanish, "LIMIT", 3)
    project = queue.project
    for number in range(7):
        workflow = Workflow.objects.create(project=project, name=str(number))
        Step.objects.create(workflow_id=workflow.pk, name="only", job_id=workflow.pk)
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 5)
    running = take_one(session, queue)
    owner.delete(f"projects/{project.pk}?cancel=true")
    turn()
    assert Project.every.filter(pk=project.pk).exists()
    finish(session, running)
    carry_out()
    for kind in (Queue.every, Project.every, Workflow.objects, Step.objects, Batch.objects, RetryPolicy.objects):
        assert not kind.exists()


def test_an_organization_takes_everything_along_but_its_record(queue, session, owner, organization):
    fill(queue, session)
    member = MembershipFactory.create(organization=organization, role=Role.MEMBER)
    api, token = token_of(member, "operate")
    assert owner.delete(f"orgs/{organization.pk}?cancel=true").status_code == 204
    for path in (f"orgs/{organization.pk}", f"orgs/{organization.pk}/members", f"queues/{queue.pk}"):
        problem(owner.get(path), 404, "not_found")
    problem(api.get("auth/me"), 401)
    assert login_of(member.user).get("auth/me").json()["memberships"] == []
    assert owner.post("orgs", {"name": "Acme", "slug": "acme"}).status_code == 201
    entry: Any = Entry.objects.get(action="organization.delete")
    assert f"{member.user.email}: member" in entry.before["members"]
    assert entry.before["cancelled"]["queued"] == 50
    assert not ApiToken.objects.filter(pk=token.pk, revoked_at=None).exists()


def test_its_rows_go_too(queue, owner, organization):
    enqueue(queue)
    make_schedule(queue)
    owner.delete(f"orgs/{organization.pk}?cancel=true")
    carry_out()
    assert not Organization.every.exists()
    assert not Membership.objects.exists()
    assert Entry.objects.filter(organization_id=organization.pk).exists()


def test_only_an_owner_deletes_an_organization_and_an_admin_a_project(queue, organization):
    admin, member = someone(organization, Role.ADMIN), someone(organization, Role.MEMBER)
    problem(admin.delete(f"orgs/{organization.pk}?cancel=true"), 403)
    problem(member.delete(f"projects/{queue.project_id}?cancel=true"), 403)
    assert Organization.objects.exists()


def test_a_user_who_goes_leaves_jobs_and_record_behind(queue, session, organization):
    member = MembershipFactory.create(organization=organization, role=Role.MEMBER)
    api = login_of(member.user)
    jobs = [api.post(f"queues/{queue.pk}/jobs", {"type": "ping"}).json()["id"] for _ in range(2)]
    api.post(f"jobs/{jobs[0]}/cancel")
    who = member.user.pk
    User.objects.get(pk=who).delete()
    problem(api.get("auth/me"), 401)
    entry = Entry.objects.get(action="job.cancel")
    assert (entry.user_id, entry.actor) == (who, member.user.email)
    finish(session, take_one(session, queue))
    seen = someone(organization, Role.VIEWER).get(f"jobs/{jobs[1]}").json()
    assert (seen["state"], seen["submitted_by"]) == ("completed", str(who))


def test_a_schedule_that_goes_lets_its_job_finish(queue, session):
    schedule = make_schedule(queue)
    job = services.run_schedule(schedule=schedule, actor=ANN).last_job_id
    running = take_one(session, queue)
    services.delete_schedule(schedule=schedule, actor=ANN)
    finish(session, running)
    assert running.job_id == job
    assert state(running.job_id) == "completed"


def test_the_end_of_a_job_wakes_nobody_that_goes_with_it(queue, owner):
    """What is settled one by one in a layered workflow of a thousand jobs is half a million edges, for nobody to see."""
    flow = begin(queue)
    owner.delete(f"projects/{queue.project_id}?cancel=true")
    carry_out()
    assert Dependency.objects.filter(settled_at=None).count() == 5
    assert not Workflow.objects.filter(pk=flow.pk).exists()


def test_a_worker_that_others_share_is_there_for_them_again(queue, session, owner, organization):
    film = begin(queue)
    services.reserve(workflow_id=film.pk, actor=ANN, worker=session.worker.uid)
    session.refresh_from_db()
    assert session.reservation_id
    owner.delete(f"orgs/{organization.pk}?cancel=true")
    carry_out()
    session.refresh_from_db()
    assert session.reservation_id is None
    assert not Organization.every.exists()


def test_its_remote_workers_and_their_sessions_go_with_an_organization(queue, owner, organization):
    mine = SessionFactory.create(worker=WorkerFactory.create(organization=organization), queues=[queue.pk])
    film = begin(queue)
    services.reserve(workflow_id=film.pk, actor=ANN, worker=mine.worker.uid)
    owner.delete(f"orgs/{organization.pk}?cancel=true")
    carry_out()
    assert not Organization.every.exists()
    assert not Session.objects.filter(pk=mine.pk).exists()
    assert not Reservation.objects.exists()


def test_dead_letters_with_many_edges_go_in_small_batches(queue, session, monkeypatch):
    monkeypatch.setattr(engine, "EDGES", 5)
    dead = [enqueue(queue) for _ in range(3)]
    finish(session, *take(session, queue, limit=3), outcome="permanent_error")
    for job_id in dead:
        Dependency.objects.bulk_create(Dependency(parent_id=uuid4(), child_id=job_id) for _ in range(4))
    assert [engine.vanish_dead(queue_id=queue.pk) for _ in range(3)] == [2, 1, 0]
    assert not Dependency.objects.exists()
