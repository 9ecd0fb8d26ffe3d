"""Find the token that a request shows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS

from apps.accounts.models import User
from apps.sql import Statement

_PERSON = ("id", "password", "last_login", "is_superuser", "email", "name", "is_active", "is_staff", "date_joined")


@dataclass(frozen=True, slots=True)
class Shown:
    """A token that holds, and whose it is."""

    user: User
    token_id: UUID
    is_api_token: bool
    scopes: list[str]
    organization_id: UUID | None
    project_id: UUID | None
    expires_at: datetime | None
    last_used_at: datetime | None


def _shown(*columns: Any) -> Shown:
    token, person = columns[: -len(_PERSON)], dict(zip(_PERSON, columns[-len(_PERSON) :], strict=True))
    names = [field.attname for field in User._meta.concrete_fields]
    user = User.from_db(DEFAULT_DB_ALIAS, names, [person[name] for name in names])
    return Shown(user, *token)


whose = Statement.beside(__file__, _shown)
