"""Where somebody is logged in: by the pages, and by login tokens."""

from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.db.models import Q, QuerySet
from django.utils.crypto import constant_time_compare
from django.utils.timezone import now

from apps.accounts.models import ApiToken, TokenKind, User

MOST = 200
SessionStore = import_module(settings.SESSION_ENGINE).SessionStore


@dataclass(frozen=True, slots=True)
class Place:
    """One log-in. The pages' have small numbers for ids, no token ever does."""

    id: UUID
    way: str
    created_at: datetime
    last_used_at: datetime | None
    address: str | None
    client: str
    current: bool


def places(user: User, *, token_id: UUID | None, session_key: str | None) -> list[Place]:
    """Every log-in that has not ended, newest first; `current` is the one that asks."""
    pages = [
        Place(UUID(int=one.pk), "page", one.created_at, one.last_seen_at, one.ip, one.user_agent, current=mine)
        for one in UserSession.objects.filter(user=user).order_by("-pk")[:MOST]
        if (mine := one.session_key == session_key) or _holds(user, one.session_key)
    ]
    logins = [
        Place(one.pk, "login", one.created_at, one.last_used_at, None, "", current=one.pk == token_id)
        for one in tokens_of(user).order_by("-id")[:MOST]
    ]
    return sorted([*pages, *logins], key=lambda one: one.created_at, reverse=True)


def user_of(key: str) -> User | None:
    """Whose a page's session is, if it has not ended; unlike Django's own way of asking, this gives it no new key."""
    user_id = SessionStore(key).get(SESSION_KEY)
    user = User.objects.filter(pk=user_id, is_active=True).first() if user_id else None
    return user if user is not None and _holds(user, key) else None


def _holds(user: User, key: str) -> bool:
    """Whether a page's session has not ended, by time or by a new password; nothing is deleted by looking."""
    said = SessionStore(key).get(HASH_SESSION_KEY, "")
    good = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(said, one) for one in good)


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The login tokens of a user that have not ended."""
    alive = Q(expires_at=None) | Q(expires_at__gt=now())
    return ApiToken.objects.filter(alive, user=user, kind=TokenKind.LOGIN, revoked_at=None)
