"""Organizations and projects that are deleted: gone for everybody at once, and from the tables when they are empty.

What hangs on them is deleted by whoever stands above (apps/jobs/services/vanish.py).
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts.models import ApiToken, Membership, Organization, Project
from apps.accounts.services.fields import hold, told
from apps.audit.record import Actor, record


@transaction.atomic
def mark_project(*, project: Project, actor: Actor, **facts: Any) -> None:
    """Let nobody see a project any more; its slug is free again. `facts` are what else the audit is told."""
    held = hold(Project.objects.all(), project.pk)
    Project.objects.filter(pk=held.pk).update(deleted_at=Now())
    _record(held, held.organization_id, actor, "project.delete", facts)


@transaction.atomic
def mark_organization(*, organization: Organization, actor: Actor, **facts: Any) -> None:
    """The same for an organization, its projects, its members and their tokens."""
    held = hold(Organization.objects.all(), organization.pk)
    Project.objects.filter(organization=held).update(deleted_at=Now())
    members = Membership.objects.filter(organization=held).order_by("id")
    facts["members"] = [f"{member.user.email}: {member.role}" for member in members.select_related("user")]
    members.delete()
    ApiToken.objects.filter(organization=held, revoked_at=None).update(revoked_at=Now())
    Organization.objects.filter(pk=held.pk).update(deleted_at=Now())
    _record(held, held.pk, actor, "organization.delete", facts)


@transaction.atomic
def drop_project(project_id: UUID) -> bool:
    """Delete the row of a deleted project; False while somebody else is at it."""
    return _drop(Project, project_id)


@transaction.atomic
def drop_organization(organization_id: UUID) -> bool:
    """Delete the row of a deleted organization, unless a project of it is still there."""
    if Project.every.filter(organization_id=organization_id).exists():
        return False
    return _drop(Organization, organization_id)


def _drop(kind: type[Project] | type[Organization], key: UUID) -> bool:
    rows = kind.every.select_for_update(skip_locked=True, of=("self",))
    held = rows.filter(pk=key, deleted_at__isnull=False).first()
    if held is not None:
        held.delete()
    return held is not None


def _record(row: Project | Organization, organization_id: UUID, actor: Actor, action: str, facts: Any) -> None:
    record(
        actor=actor,
        organization_id=organization_id,
        action=action,
        target_type=row._meta.model_name or "",
        target_id=row.pk,
        before={**told(row), **facts},
    )
