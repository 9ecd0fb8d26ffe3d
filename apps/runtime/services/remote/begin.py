"""A remote worker starts: it gets a session, and its predecessor loses its own."""

import structlog

from apps.accounts.models import Organization
from apps.workers.engine.register import About, Registered, register

log = structlog.get_logger("fencepost.remote")


def begin(*, uid: str, organization: Organization, about: About) -> Registered:
    """Start a session of an organization's worker. Raises Conflict for a name that is another's."""
    registered = register(uid=uid, organization_id=organization.pk, **about)
    log.info(
        "remote worker started", worker=uid, organization=organization.slug, session_id=str(registered.session_id),
        fenced=registered.fenced,
    )  # fmt: skip
    return registered
