"""Whose demo it is: an organization with a queue, a person of each role, and a token to submit with."""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils.timezone import now

from apps.accounts.models import ApiToken, Membership, Organization, Project, Role, User
from apps.accounts.selectors import caller_of_user
from apps.accounts.services import organizations, people, tokens
from apps.audit.record import Actor, record
from apps.queues.models import Queue
from apps.queues.services import queues

ACTOR = Actor(name="manage.py demo")
PASSWORD = "fencepost-demo"  # noqa: S105 - told to whoever runs the demo, and refused in production
DOMAIN = "demo.example"
TOKEN = "demo"  # noqa: S105 - its name


class NotHere(Exception):
    """The demo makes people whose password everybody knows: not in production."""


@dataclass(frozen=True, slots=True)
class Cast:
    queue: Queue
    path: str  # "org/project/queue"
    member: User  # who submits
    logins: list[tuple[str, str]]  # e-mail, what they are


@transaction.atomic
def call() -> Cast:
    """Make whatever is missing of the demo's organization; the same is found the next time."""
    if settings.PRODUCTION:
        raise NotHere(NotHere.__doc__)
    users = {role: _user(role) for role in Role}
    staff = _staff()
    organization = _organization(users)
    project = _project(organization)
    queue = Queue.objects.filter(project=project, name="images").first() or queues.create(
        project=project, actor=ACTOR, name="images", timeout_ms=300_000
    )
    logins = [(users[role].email, role.value) for role in reversed(Role)]
    return Cast(
        queue=queue,
        path=f"{organization.slug}/{project.slug}/{queue.name}",
        member=users[Role.MEMBER],
        logins=[*logins, (staff.email, "staff: sees /admin/ too")],
    )


@transaction.atomic
def token(cast: Cast) -> str:
    """Make the token that the demo submits with, good for a day; the one before it ends."""
    organization = cast.queue.project.organization
    for old in ApiToken.objects.filter(organization=organization, user=cast.member, name=TOKEN, revoked_at=None):
        tokens.revoke(token=old, actor=ACTOR)
    _, text = tokens.create_token(
        by=caller_of_user(cast.member),
        organization=organization,
        actor=ACTOR,
        scopes=["read", "submit"],
        name=TOKEN,
        expires_at=now() + timedelta(days=1),
    )
    return text


def _user(name: str) -> User:
    email = f"{name}@{DOMAIN}"
    user = User.objects.filter(email=email).first()
    if user is None:
        return people.register(email=email, password=PASSWORD, name=name.title())
    if not user.check_password(PASSWORD):
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    return user


def _staff() -> User:
    user = _user("staff")
    if not (user.is_staff and user.is_superuser):
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
        record(actor=ACTOR, organization_id=None, action="user.staff", target_type="user", target_id=user.pk)
    return user


def _organization(users: dict[Role, User]) -> Organization:
    owner = users[Role.OWNER]
    found = Organization.objects.filter(slug="demo").first() or organizations.create_organization(
        owner=owner, actor=ACTOR, name="Demo", slug="demo"
    )
    here = set(Membership.objects.filter(organization=found).values_list("user_id", flat=True))
    for role, user in users.items():
        if user.pk not in here:
            organizations.add_member(organization=found, actor=ACTOR, by=Role.OWNER, email=user.email, role=role)
    return found


def _project(organization: Organization) -> Project:
    found = Project.objects.filter(organization=organization, slug="pictures").first()
    return found or organizations.create_project(
        organization=organization, actor=ACTOR, name="Pictures", slug="pictures"
    )
