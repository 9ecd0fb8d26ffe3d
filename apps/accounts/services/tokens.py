"""Make tokens, note that they were used, and end them. The text of one is told once and never kept."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now

from apps.accounts.models import ApiToken, Organization, Project, TokenKind, User
from apps.accounts.selectors.callers import SCOPES
from apps.accounts.selectors.tokens import digest, new_text
from apps.accounts.services.fields import told
from apps.audit.record import Actor, record
from apps.errors import BadInput, NotFound

NOTED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_login(*, user: User, actor: Actor) -> tuple[ApiToken, str]:
    """Make the token a login answers: the user's own rights, for TOKEN_DAYS."""
    text = new_text()
    token = ApiToken.objects.create(
        kind=TokenKind.LOGIN,
        user=user,
        hash=digest(text),
        hint=text[-4:],
        expires_at=now() + timedelta(days=settings.TOKEN_DAYS),
    )
    record(actor=actor, organization_id=None, action="user.login", target_type="token", target_id=token.pk)
    return token, text


@transaction.atomic
def create_token(
    *,
    user: User,
    organization: Organization,
    actor: Actor,
    scopes: Sequence[str],
    name: str = "",
    project: Project | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token for programs; it never does more than its scopes and its user's present role both allow."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise BadInput.at("#/scopes", f"Give some of {', '.join(SCOPES)}.")
    if project and project.organization_id != organization.pk:
        raise BadInput.at("#/project", "This project belongs to another organization.")
    text = new_text()
    token = ApiToken.objects.create(
        user=user,
        organization=organization,
        project=project,
        name=name,
        scopes=sorted(set(scopes)),
        expires_at=expires_at,
        hash=digest(text),
        hint=text[-4:],
    )
    _record(token, actor, "token.create")
    return token, text


@transaction.atomic
def revoke(*, token: ApiToken, actor: Actor) -> None:
    """End a token at once; does nothing to one that has ended."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now()):
        _record(token, actor, "token.revoke")


@transaction.atomic
def log_out(*, token_id: UUID, actor: Actor) -> None:
    """End a login token."""
    if not ApiToken.objects.filter(pk=token_id, kind=TokenKind.LOGIN, revoked_at=None).update(revoked_at=now()):
        raise NotFound
    record(actor=actor, organization_id=None, action="user.logout", target_type="token", target_id=token_id)


def revoke_logins(*, user: User, keep: UUID | None = None) -> int:
    """End the login tokens of a user, all but one."""
    logins = ApiToken.objects.filter(user=user, kind=TokenKind.LOGIN, revoked_at=None)
    return (logins.exclude(pk=keep) if keep else logins).update(revoked_at=now())


def note_use(*, token_id: UUID, last_used_at: datetime | None) -> None:
    """Write down that a token was used, at most once a minute, however many requests come at once."""
    stale = now() - NOTED_EVERY
    if last_used_at is None or last_used_at < stale:
        unnoted = ApiToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=stale), pk=token_id)
        unnoted.update(last_used_at=now())


def _record(token: ApiToken, actor: Actor, action: str) -> None:
    record(
        actor=actor,
        organization_id=token.organization_id,
        action=action,
        target_type="token",
        target_id=token.pk,
        after=told(token),
    )
