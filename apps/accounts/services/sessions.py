"""End log-ins: one, or all but the one that asks."""

from contextlib import suppress
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.db import transaction
from django.utils.timezone import now

from apps.accounts.models import User
from apps.accounts.selectors.sessions import Place, tokens_of
from apps.audit.record import Actor, record
from apps.errors import NotFound


@transaction.atomic
def end(*, user: User, key: UUID, actor: Actor) -> None:
    """End one log-in of a user at once; raises NotFound for one that is not theirs."""
    ended = tokens_of(user).filter(pk=key).update(revoked_at=now())
    if not ended:
        page = UserSession.objects.filter(user=user, pk=key.int).first() if key.int < 2**63 else None
        if page is None:
            raise NotFound
        page.end()
    record(actor=actor, organization_id=None, action="user.logout", target_type="session", target_id=key)


def end_all(*, user: User, places: list[Place], actor: Actor) -> None:
    """End these log-ins; one that has ended meanwhile does not keep the others."""
    for place in places:
        with suppress(NotFound):
            end(user=user, key=place.id, actor=actor)
