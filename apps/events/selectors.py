"""Who may follow a project."""

from http.cookies import SimpleCookie
from uuid import UUID

from django.conf import settings

from apps.accounts.selectors import Caller, caller_of_token, caller_of_user
from apps.accounts.selectors.reach import projects
from apps.accounts.selectors.sessions import user_of
from apps.errors import Forbidden, NotAuthenticated, NotFound


def admit(*, project_id: UUID, token: str | None, session_key: str | None) -> None:
    """Raise a refusal unless the holder of this token, or else of this session, may read the project's events now.

    Nothing is remembered: ask again while a socket stays open, for sessions end and members leave.
    """
    caller = caller_of_token(token) if token is not None else _caller_of_session(session_key)
    if caller is None:
        raise NotAuthenticated
    if not caller.covers("read"):
        raise Forbidden("This token's scopes do not cover reading.")
    if not projects(caller).filter(pk=project_id).exists():
        raise NotFound


def session_key_in(cookies: str) -> str | None:
    """The session's key in a Cookie header."""
    morsel = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    return morsel.value if morsel else None


def _caller_of_session(session_key: str | None) -> Caller | None:
    user = user_of(session_key) if session_key else None
    return caller_of_user(user) if user else None
