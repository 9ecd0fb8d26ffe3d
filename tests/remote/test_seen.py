"""Remote workers are seen where local ones are: why a job waits, on the page of workers, in the lease of a job."""

import pytest

from apps.accounts.models import Role
from apps.jobs.engine.unannounced import unannounced
from apps.jobs.selectors import find
from apps.jobs.selectors.why import why_waiting
from tests import acts
from tests.api.caller import someone
from tests.factories import MembershipFactory, OrganizationFactory, QueueFactory
from tests.remote.conftest import api_of, begin

pytestmark = pytest.mark.django_db


def gates(job_id):
    told = why_waiting(find(job_id))
    return [gate.code for gate in told.gates] if told else []


def test_a_type_that_only_a_remote_worker_knows_is_not_unknown(remote, queue):
    job_id = acts.enqueue(queue)
    assert "no_worker" not in gates(job_id)
    assert unannounced(queue_ids=[queue.pk]) == []
    other = acts.enqueue(queue, type="pong")
    assert "no_worker" in gates(other)


def test_a_worker_of_another_organization_or_project_does_not_count(queue, organization):
    theirs = QueueFactory.create(project__organization=OrganizationFactory.create())
    begin(api_of(theirs.project.organization), "theirs")
    beside = QueueFactory.create(project__organization=organization)
    begin(api_of(organization, beside.project), "beside")
    job_id = acts.enqueue(queue)
    assert "no_worker" in gates(job_id)
    assert [one.type for one in unannounced(queue_ids=[queue.pk])] == ["ping"]


def test_slots_that_remote_workers_have_taken_are_named(api, queue):
    small = begin(api, concurrency=1)
    acts.enqueue(queue)
    small.one()
    assert "slots_taken" in gates(acts.enqueue(queue))


def test_a_job_shows_who_holds_it(remote, organization, queue):
    job_id = acts.enqueue(queue)
    job = remote.one()
    lease = someone(organization, Role.VIEWER).get(f"jobs/{job_id}").json()["lease"]
    assert (lease["worker"], lease["session"], lease["fence"]) == ("w1", remote.id, job["fence"])


def test_the_page_of_workers_shows_it(remote, organization, queue, client):
    acts.enqueue(queue)
    remote.one()
    client.force_login(MembershipFactory.create(organization=organization, role=Role.VIEWER).user)
    page = client.get("/workers").content.decode()
    assert "w1" in page
    assert "1 of 10" in page
