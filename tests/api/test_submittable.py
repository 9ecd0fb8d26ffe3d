"""Submitting finds its queue by a statement of its own, and exactly where every other endpoint would."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils.timezone import now

from apps.accounts.models import Membership, Project, Role, User
from apps.accounts.selectors import Caller, caller_of_user
from apps.accounts.selectors.callers import caller_of_token
from apps.queues import selectors
from apps.queues.models import Depth, Queue
from tests.api.world import NOWHERE, World, build
from tests.factories import (
    ApiTokenFactory,
    MembershipFactory,
    OrganizationFactory,
    ProjectFactory,
    QueueFactory,
    UserFactory,
)

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Place:
    """Two tenants; the first has a second project, a deleted project and a deleted queue."""

    own: World
    foreign: World
    beside: Queue

    @property
    def queues(self) -> list[Any]:
        return [*Queue.every.values_list("pk", flat=True), NOWHERE.queue]


@pytest.fixture
def place(world, organization, results) -> Place:
    foreign = build(OrganizationFactory.create(), results)
    beside = QueueFactory.create(project=ProjectFactory.create(organization=organization), max_depth=7)
    QueueFactory.create(project=beside.project, allowed_types=["echo"], deleted_at=now())
    QueueFactory.create(project=ProjectFactory.create(organization=organization, deleted_at=now()))
    Depth.objects.create(queue=beside, queued=5)
    Depth.objects.create(queue_id=world.idle_queue, queued=3)
    Depth.objects.filter(queue_id=world.idle_queue).update(measured_at=now() - timedelta(minutes=2))
    return Place(world, foreign, beside)


def both(user: User, place: Place) -> Iterator[Membership]:
    """Somebody in both tenants."""
    for organization, role in ((place.own.org, Role.OWNER), (place.foreign.org, Role.VIEWER)):
        yield MembershipFactory.create(user=user, organization_id=organization, role=role)


def by_token(user: User, **bounds: Any) -> Caller:
    token: Any = ApiTokenFactory.create(user=user, scopes=["submit"], **bounds)
    caller = caller_of_token(token.text)
    assert caller
    return caller


def callers(place: Place) -> dict[str, Caller]:
    everywhere, left = UserFactory.create(), UserFactory.create()
    list(both(everywhere, place))
    [_, gone] = both(left, place)
    leaver = by_token(left, organization_id=gone.organization_id)
    gone.delete()
    roles = {role: MembershipFactory.create(organization_id=place.own.org, role=role).user for role in Role}
    return {
        **{role.value: caller_of_user(user) for role, user in roles.items()},
        "a member of both": caller_of_user(everywhere),
        "a stranger": caller_of_user(UserFactory.create()),
        "who left one": caller_of_user(left),
        "the token of who left": leaver,
        "the token of one tenant": by_token(everywhere, organization_id=place.own.org),
        "the token of the other": by_token(everywhere, organization_id=place.foreign.org),
        "the token of a project": by_token(everywhere, organization_id=place.own.org, project=place.beside.project),
        "the token of another project": by_token(
            everywhere, organization_id=place.own.org, project_id=place.own.project
        ),
        "the token of a project in the wrong tenant": by_token(
            everywhere, organization_id=place.foreign.org, project_id=place.own.project
        ),
    }


def told(queue: Any) -> tuple[Any, ...] | None:
    """What submitting reads of a queue."""
    if queue is None:
        return None
    assert queue.project.pk == queue.project_id
    of_queue = (queue.pk, queue.project_id, queue.project.organization_id, queue.allowed_types, queue.max_depth)
    return (*of_queue, queue.role, queue.cached_depth)


def test_everybody_submits_to_what_they_reach_and_to_nothing_else(place, subtests):
    rows: set[Any] = set()
    for name, caller in callers(place).items():
        with subtests.test(caller=name):
            for queue in place.queues:
                asked = selectors.with_depth(selectors.queues(caller)).filter(pk=queue).first()
                found = told(selectors.submittable(caller, queue))
                assert found == told(asked)
                rows.add(found and found[:1] + found[-2:])
    reached = {row[0] for row in rows if row}
    assert None in rows
    assert {place.own.queue, place.foreign.queue, place.beside.pk} <= reached
    assert (place.beside.pk, Role.OWNER, 5) in rows
    assert (place.own.idle_queue, Role.OWNER, None) in rows  # nobody has measured it lately


def test_the_rest_of_what_was_found_is_read_when_somebody_asks(place):
    owner = MembershipFactory.create(organization_id=place.own.org, role=Role.OWNER).user
    found: Any = selectors.submittable(caller_of_user(owner), place.beside.pk)
    assert (found.name, found.project.slug) == (place.beside.name, place.beside.project.slug)
    assert found == place.beside
    assert isinstance(found.project, Project)
