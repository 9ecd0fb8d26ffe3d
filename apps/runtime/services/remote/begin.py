"""A remote worker starts: it gets a session, and its predecessor loses its own."""

import structlog
from django.db import transaction

from apps.accounts.models import Organization
from apps.accounts.selectors import Caller
from apps.errors import Taken
from apps.runtime.selectors.remote import shut
from apps.workers.engine.register import TAKEN, About, Registered, register

log = structlog.get_logger("fencepost.remote")


@transaction.atomic
def begin(*, uid: str, organization: Organization, about: About, caller: Caller) -> Registered:
    """Start a session of an organization's worker. Raises Taken for a name that is another's, or another project's."""
    if shut(caller, organization, uid):
        raise Taken.by(TAKEN)
    registered = register(uid=uid, organization_id=organization.pk, **about)
    log.info(
        "remote worker started", worker=uid, organization=organization.slug, session_id=str(registered.session_id),
        fenced=registered.fenced,
    )  # fmt: skip
    return registered
