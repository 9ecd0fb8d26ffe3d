"""Who calls: a person, or a token with that person's rights or fewer."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.accounts.engine.whose import whose
from apps.accounts.models import User
from apps.accounts.selectors.tokens import digest, is_one

# What each scope of a token covers besides itself. A worker's token does nothing but work.
COVERS = {
    "read": {"read"},
    "submit": {"submit"},
    "operate": {"operate", "submit", "read"},
    "admin": {"admin", "operate", "submit", "read"},
    "worker": {"worker"},
}
SCOPES = tuple(COVERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever sent a request. `scopes` is None for a person: then only roles bound them."""

    user: User
    token_id: UUID | None = None
    is_api_token: bool = False
    scopes: frozenset[str] | None = None
    organization_id: UUID | None = None  # the only one a token may reach
    project_id: UUID | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None

    def covers(self, scope: str | None) -> bool:
        """Tell whether this scope was given; what needs none is always covered."""
        return scope is None or self.scopes is None or scope in self.scopes

    @property
    def submitter_id(self) -> UUID:
        """Whom a job remembers: the token made for it, else the person."""
        return self.token_id if self.is_api_token and self.token_id else self.user.pk


def caller_of_user(user: User) -> Caller:
    """A person with a session."""
    return Caller(user=user)


def caller_of_token(text: str) -> Caller | None:
    """The caller a token's text stands for; None if it is no token, revoked, expired or its user has been shut out."""
    if not is_one(text):
        return None
    # Not by the ORM: it would spend more on making the statement than the database does on answering it.
    for shown in whose(hash=digest(text)):
        given = (COVERS.get(scope, set()) for scope in shown.scopes)
        return Caller(
            user=shown.user,
            token_id=shown.token_id,
            is_api_token=shown.is_api_token,
            scopes=frozenset().union(*given) if shown.is_api_token else None,
            organization_id=shown.organization_id,
            project_id=shown.project_id,
            expires_at=shown.expires_at,
            last_used_at=shown.last_used_at,
        )
    return None
