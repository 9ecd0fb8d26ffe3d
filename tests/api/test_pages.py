"""Lists are walked by signed cursors, forward and back, and a cursor fits nowhere else."""

import base64
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from apps.accounts.models import Role
from apps.jobs.engine.enqueue import NewJob, enqueue
from tests import acts
from tests.api.caller import BASE, Api, pointers, problem, someone
from tests.factories import MembershipFactory, OrganizationFactory, ProjectFactory, QueueFactory

pytestmark = pytest.mark.django_db


def follow(api: Api, address: str) -> Any:
    """The page at an absolute address."""
    return api.get(address.partition(BASE)[2]).json()


def walk(api: Api, path: str, way: str = "next") -> list[list[str]]:
    """The ids of every page, from one address on."""
    page = api.get(path).json()
    pages = [page]
    while page[way]:
        page = follow(api, page[way])
        pages.append(page)
    return [[row["id"] for row in page["results"]] for page in pages]


@pytest.fixture
def many(queue) -> list[str]:
    """Five hundred jobs of one moment, of which some have run: newest first."""
    made: list[UUID] = []
    for _ in range(5):
        made += [one.job_id for one in enqueue([NewJob(queue_id=queue.pk, type=acts.PING) for _ in range(100)])]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job_live SET created_at = '2026-01-01', run_at = '2026-01-01'")
    return [str(job_id) for job_id in sorted(made, reverse=True)]


def test_equal_moments_are_walked_forward_and_back_without_a_gap(api, queue, many, session):
    acts.finish(session, *acts.take(session, queue, limit=5))
    acts.finish(session, *acts.take(session, queue, limit=5), outcome="permanent_error")
    path = f"jobs?queue={queue.pk}&limit=37"
    there = walk(api, path)
    assert [job for page in there for job in page] == many
    last = api.get(path).json()
    while last["next"]:
        last = follow(api, last["next"])
    back = [last]
    while back[-1]["previous"]:
        back.append(follow(api, back[-1]["previous"]))
    assert [[row["id"] for row in page["results"]] for page in reversed(back)] == there


def test_a_page_in_the_middle_leads_both_ways(api, queue, many):
    first = api.get(f"jobs?queue={queue.pk}&limit=50").json()
    second = follow(api, first["next"])
    assert follow(api, second["previous"]) == first
    assert first["previous"] is None


def test_jobs_that_arrive_later_stand_on_the_page_before(api, queue, many):
    first = api.get(f"jobs?queue={queue.pk}&limit=50").json()
    late = acts.enqueue(queue)
    assert follow(api, follow(api, first["next"])["previous"])["results"] == first["results"]
    assert api.get(f"jobs?queue={queue.pk}&limit=1").json()["results"][0]["id"] == str(late)


def test_every_row_that_stays_is_seen_once_while_others_come_and_go(api, queue, many):
    page, seen = api.get(f"jobs?queue={queue.pk}&limit=50").json(), []
    while True:
        seen += [row["id"] for row in page["results"]]
        if not page["next"]:
            break
        acts.enqueue(queue)
        vanish(many.pop(many.index(seen[-1]) + 1))
        page = follow(api, page["next"])
    assert seen == many


def test_saved_addresses_of_rows_that_are_gone_lead_to_empty_pages(api, queue, many):
    middle = follow(api, api.get(f"jobs?queue={queue.pk}&limit=50").json()["next"])
    vanish(*many)
    for way in ("next", "previous"):
        assert follow(api, middle[way]) == {"results": [], "next": None, "previous": None}


def vanish(*ids: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        cursor.execute("DELETE FROM jobs_job WHERE id = ANY(%s::uuid[])", [list(ids)])
        cursor.execute("SELECT set_config('fencepost.guard', 'on', true)")


def test_a_projects_queues_are_merged(api, project, queue):
    other = QueueFactory.create(project=project)
    made = [acts.enqueue(one) for _ in range(10) for one in (queue, other)]
    found = [job for page in walk(api, f"jobs?project={project.pk}&limit=3") for job in page]
    assert found == [str(job) for job in sorted(made, reverse=True)]


def test_filters_narrow(api, queue, session):
    plain = acts.enqueue(queue)
    labelled = acts.enqueue(queue, type="other", labels='{"album": "2027", "a": "b"}')
    later = acts.enqueue(queue, delay_ms=60_000)
    acts.finish(session, acts.take_one(session, queue))

    def found(query: str) -> list[str]:
        return [row["id"] for row in api.get(f"jobs?queue={queue.pk}&{query}").json()["results"]]

    assert found("state=completed") == [str(plain)]
    assert found("state=queued,scheduled") == [str(later), str(labelled)]
    assert found("type=other") == [str(labelled)]
    assert found(f"type=other,{acts.PING}") == [str(later), str(labelled), str(plain)]
    assert found("label=album:2027") == [str(labelled)]
    assert found("label=album:2028") == []
    assert len(found("created_after=2020-01-01T00:00:00Z")) == 3
    assert found("created_before=2020-01-01T00:00:00%2B02:00") == []


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("state=fluffy", "?state"),
        ("label=album", "?label"),
        ("created_after=2026-01-01", "?created_after"),
        ("created_after=2026-01-01T00:00:00", "?created_after"),
        ("batch=x", "?batch"),
        ("ordering=payload", "?ordering"),
        ("payload__a=1", "?payload__a"),
        ("queue__project=1", "?queue__project"),
    ],
)
def test_what_is_no_filter_is_refused_by_name(api, queue, query, pointer):
    assert pointers(api.get(f"jobs?queue={queue.pk}&{query}")) == [pointer]


def cursor_of(address: str) -> str:
    return address.partition("cursor=")[2]


def test_a_cursor_fits_nowhere_else(api, owner, queue, project, many):
    cursor = cursor_of(api.get(f"jobs?queue={queue.pk}&limit=5").json()["next"])
    assert api.get(f"jobs?queue={queue.pk}&limit=9&cursor={cursor}").status_code == 200
    twin = QueueFactory.create(project=project)
    theirs = MembershipFactory.create(user=owner.user, role=Role.OWNER).organization
    foreign = QueueFactory.create(project=ProjectFactory.create(organization=theirs))
    for other in (
        f"jobs?queue={twin.pk}",
        f"jobs?queue={foreign.pk}",
        f"jobs?project={project.pk}",
        f"jobs?queue={queue.pk}&state=queued",
        f"jobs?queue={queue.pk}&type={acts.PING}",
        f"dlq?queue={queue.pk}",
        f"orgs/{project.organization_id}/projects?limit=5",
    ):
        assert pointers(api.get(f"{other}&cursor={cursor}")) == ["?cursor"], other


def test_a_cursor_of_one_tenant_is_none_of_another(api, owner, project):
    theirs = MembershipFactory.create(user=owner.user, role=Role.OWNER).organization
    for organization in (project.organization, theirs):
        ProjectFactory.create_batch(3, organization=organization)
    cursor = cursor_of(api.get(f"orgs/{theirs.pk}/projects?limit=1").json()["next"])
    assert api.get(f"orgs/{theirs.pk}/projects?limit=1&cursor={cursor}").status_code == 200
    assert pointers(api.get(f"orgs/{project.organization_id}/projects?limit=1&cursor={cursor}")) == ["?cursor"]


def test_a_cursor_that_was_tampered_with_is_refused(api, queue, many):
    cursor = cursor_of(api.get(f"jobs?queue={queue.pk}&limit=5").json()["next"])
    text = base64.urlsafe_b64decode(cursor.replace("%3D", "=")).decode()
    forged = [f"{'n' if text[0] == 'o' else 'o'}{text[1:]}", f"o{'0' * 32}{text[33:]}", text[:-1], f"{text}A", "", "o"]
    raw = ["", "x", "////", "x" * 100_000, "-1", "9" * 5000, "%00", "%F0%9F%98%80", "../../etc", "o:"]
    for bad in [base64.urlsafe_b64encode(one.encode()).decode() for one in forged] + raw:
        assert pointers(api.get(f"jobs?queue={queue.pk}&limit=5&cursor={bad}")) == ["?cursor"], bad


@pytest.mark.parametrize(
    ("path", "make"),
    [
        ("orgs/{org}/projects", lambda project: ProjectFactory.create(organization=project.organization)),
        ("projects/{project}/queues", lambda project: QueueFactory.create(project=project)),
        ("orgs/{org}/members", lambda project: MembershipFactory.create(organization=project.organization)),
    ],
)
def test_other_lists_are_pages_too(api, project, path, make):
    for _ in range(7):
        make(project)
    place = path.format(org=project.organization_id, project=project.pk)
    whole = api.get(place).json()["results"]
    page = api.get(f"{place}?limit=3").json()
    rows = page["results"]
    while page["next"]:
        page = follow(api, page["next"])
        rows += page["results"]
    assert rows == whole
    assert len(rows) >= 7


def test_dead_letters_are_pages_with_their_last_error(api, queue, session):
    dead = [acts.enqueue(queue) for _ in range(5)]
    taken = acts.take(session, queue)
    acts.finish(session, *taken[:3], outcome="permanent_error", error_class="OSError", error_message="gone")
    acts.finish(session, *taken[3:], outcome="permanent_error", error_class="ValueError")
    rows: list[Any] = []
    page = api.get(f"dlq?queue={queue.pk}&limit=2").json()
    rows += page["results"]
    while page["next"]:
        page = follow(api, page["next"])
        rows += page["results"]
    assert [row["job"] for row in rows] == [str(job) for job in sorted(dead, reverse=True)]
    narrowed = api.get(f"dlq?project={queue.project_id}&error_class=OSError").json()["results"]
    assert {row["job"] for row in narrowed} == {str(one.job_id) for one in taken[:3]}
    assert narrowed[0]["last_error_message"] == "gone"
    assert narrowed[0]["replayable"]


def test_a_dead_letter_says_what_stands_in_its_way(api, queue, session):
    rival, parent = acts.enqueue(queue, unique_key="k"), acts.enqueue(queue)
    child = acts.enqueue(queue, depends_on=[parent])
    acts.finish(session, *acts.take(session, queue), outcome="permanent_error", error_class="OSError")
    heir = acts.enqueue(queue, unique_key="k")
    rows = api.get(f"dlq?queue={queue.pk}").json()["results"]
    assert not any(row["replayable"] for row in rows)
    assert {row["job"]: row["blocked_by"] for row in rows} == {str(rival): [str(heir)], str(parent): [str(child)]}
    assert problem(api.post(f"dlq/{rival}/replay"), 409, "key_taken")["job_id"] == str(heir)
    assert problem(api.post(f"dlq/{parent}/replay"), 409, "not_replayable")["descendants"] == [str(child)]
    assert api.post(f"dlq/{parent}/replay", {"revive_descendants": True}).json()["state"] == "queued"
    assert api.get(f"jobs/{child}").json()["state"] == "blocked"


def test_one_tenants_markers_stand_in_no_list_of_another(api, queue):
    theirs = QueueFactory.create(project=ProjectFactory.create(organization=OrganizationFactory.create(name="MARKER")))
    acts.enqueue(theirs, type="MARKER", labels='{"MARKER": "MARKER"}')
    someone(theirs.project.organization, Role.OWNER)
    for path in ("orgs", f"jobs?project={queue.project_id}", f"dlq?queue={queue.pk}", f"workers?queue={queue.pk}"):
        assert "MARKER" not in api.get(path).content.decode()
