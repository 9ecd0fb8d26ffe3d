"""Write down who did what, in the transaction that does it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from apps.audit.models import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts: a person, a token of one, a command, or the system itself.

    `name` is the e-mail address or "manage.py <command>", kept as it was then.
    """

    name: str
    user_id: UUID | None = None
    token_id: UUID | None = None
    address: str | None = None
    request_id: str = ""

    @property
    def submitter_id(self) -> UUID | None:
        """What a job remembers of who submitted it: the token if there was one, else the user."""
        return self.token_id or self.user_id


SYSTEM = Actor(name="system")


def spoken(moment: datetime) -> str:
    """A time as entries keep it: in UTC, as every answer has it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def record(
    *,
    actor: Actor,
    organization_id: UUID | None,
    action: str,
    target_type: str,
    target_id: object,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Add one audit entry; `action` reads "queue.pause". Values must be JSON; never put secrets in."""
    Entry.objects.create(
        actor=actor.name,
        user_id=actor.user_id,
        token_id=actor.token_id,
        address=actor.address,
        request_id=actor.request_id,
        organization_id=organization_id,
        action=action,
        target_type=target_type,
        target_id=str(target_id),
        before=before,
        after=after,
    )
