"""Make tokens, note that they were used, and end them. The text of one is told once and never kept."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now

from apps.accounts.models import ApiToken, Organization, Project, TokenKind, User
from apps.accounts.selectors.callers import SCOPES, Caller
from apps.accounts.selectors.tokens import digest, new_text
from apps.accounts.services.fields import hold, told
from apps.audit.record import Actor, record
from apps.errors import BadInput, Conflict, Forbidden, NotFound

NOTED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_login(*, user: User, actor: Actor) -> tuple[ApiToken, str]:
    """Make the token a login answers: the user's own rights, for TOKEN_DAYS."""
    end = now() + timedelta(days=settings.TOKEN_DAYS)
    token, text = _make(kind=TokenKind.LOGIN, user=user, expires_at=end)
    record(actor=actor, organization_id=None, action="user.login", target_type="token", target_id=token.pk)
    return token, text


@transaction.atomic
def create_token(
    *,
    by: Caller,
    organization: Organization,
    actor: Actor,
    scopes: Sequence[str],
    name: str = "",
    project: Project | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token for programs; it never does more than its scopes and its maker's present role both allow.

    One that is made with a token does nothing that one may not, and does not outlive it.
    """
    _check_scopes(by, scopes)
    _check_end(by, expires_at)
    if project and project.organization_id != organization.pk:
        raise BadInput.at("#/project", "This project belongs to another organization.")
    whose = {"user": by.user, "organization": organization, "project": project}
    token, text = _make(**whose, name=name, scopes=sorted(set(scopes)), expires_at=expires_at)
    _record(token, actor, "token.create", after=told(token))
    return token, text


@transaction.atomic
def rotate(*, token: ApiToken, by: Caller, actor: Actor) -> tuple[ApiToken, str]:
    """Give a token another text; the one it had ends at once. Raises Conflict for one that has ended itself."""
    held = hold(ApiToken.objects.select_related("user"), token.pk)
    if held.revoked_at or (held.expires_at and held.expires_at <= now()):
        raise Conflict("This token has ended; make another.")
    _refuse_wider(by, held.scopes)
    _refuse_longer(by, held.expires_at)
    before, text = told(held), new_text()
    held.hash, held.hint, held.last_used_at = digest(text), text[-4:], None
    held.save(update_fields=["hash", "hint", "last_used_at"])
    _record(held, actor, "token.rotate", before=before, after=told(held))
    return held, text


@transaction.atomic
def revoke(*, token: ApiToken, actor: Actor) -> None:
    """End a token at once; does nothing to one that has ended."""
    held = hold(ApiToken.objects.all(), token.pk)
    if held.revoked_at:
        return
    before, held.revoked_at = told(held), now()
    held.save(update_fields=["revoked_at"])
    _record(held, actor, "token.revoke", before=before, after=told(held))


def revoke_of(*, user_id: UUID, organization_id: UUID) -> list[str]:
    """End what somebody made in an organization they leave: it must not wake when they come back. Answers which."""
    theirs = ApiToken.objects.filter(user_id=user_id, organization_id=organization_id, revoked_at=None)
    ended = [str(key) for key in theirs.order_by("id").values_list("pk", flat=True)]
    theirs.update(revoked_at=now())
    return ended


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


def _make(**fields: Any) -> tuple[ApiToken, str]:
    text = new_text()
    return ApiToken.objects.create(hash=digest(text), hint=text[-4:], **fields), text


def _check_scopes(by: Caller, scopes: Sequence[str]) -> None:
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise BadInput.at("#/scopes", f"Give some of {', '.join(SCOPES)}.")
    _refuse_wider(by, scopes)


def _refuse_wider(by: Caller, scopes: Sequence[str]) -> None:
    lacking = [scope for scope in scopes if not by.covers(scope)]
    if lacking:
        raise Forbidden(f"Your own token lacks the scope {lacking[0]}.")


def _check_end(by: Caller, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= now():
        raise BadInput.at("#/expires_at", "This lies in the past.")
    _refuse_longer(by, expires_at)


def _refuse_longer(by: Caller, expires_at: datetime | None) -> None:
    if by.is_api_token and by.expires_at and (expires_at is None or expires_at > by.expires_at):
        raise Forbidden("Your own token ends before this one would.")


def _record(token: ApiToken, actor: Actor, action: str, **facts: Mapping[str, Any]) -> None:
    record(
        actor=actor,
        organization_id=token.organization_id,
        action=action,
        target_type="token",
        target_id=token.pk,
        **facts,
    )
