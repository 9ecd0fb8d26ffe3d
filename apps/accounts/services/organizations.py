"""Make and change organizations and projects; let people in and out."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.text import slugify

from apps.accounts.models import Membership, Organization, Project, Role, User
from apps.accounts.services.fields import change, hold, make, told
from apps.accounts.services.tokens import revoke_of
from apps.audit.record import Actor, record
from apps.errors import BadInput, Conflict, Fault, Forbidden, NotFound


@transaction.atomic
def create_organization(*, owner: User, actor: Actor, name: str, slug: str = "") -> Organization:
    """Make an organization with its first owner; without a slug, one is made from the name."""
    organization = make(Organization(name=name, slug=slug or _slug(name)), taken=_taken(slug))
    Membership.objects.create(user=owner, organization=organization, role=Role.OWNER)
    _record(organization, actor, "organization.create", organization, after=told(organization))
    return organization


@transaction.atomic
def update_organization(*, organization: Organization, actor: Actor, **fields: Any) -> Organization:
    """Change the named fields of an organization."""
    held = hold(Organization.objects.all(), organization.pk)
    before, after = change(held, fields)
    if after:
        _record(held, actor, "organization.update", held, before=before, after=after)
    return held


@transaction.atomic
def create_project(*, organization: Organization, actor: Actor, name: str, slug: str = "", **fields: Any) -> Project:
    """Make a project; `fields` are those of the model."""
    row = Project(organization=organization, name=name, slug=slug or _slug(name), **fields)
    project = make(row, taken=_taken(slug))
    _record(organization, actor, "project.create", project, after=told(project))
    return project


@transaction.atomic
def update_project(*, project: Project, actor: Actor, **fields: Any) -> Project:
    """Change the named fields of a project."""
    held = hold(Project.objects.select_related("organization"), project.pk)
    before, after = change(held, fields)
    if after:
        _record(held.organization, actor, "project.update", held, before=before, after=after)
    return held


@transaction.atomic
def add_member(*, organization: Organization, actor: Actor, by: Role, email: str, role: Role) -> Membership:
    """Let somebody who has an account in; only an owner, as `by` says, makes owners."""
    _refuse_above(by, role)
    user = User.objects.filter(email=email.strip().lower()).first()
    if user is None:
        raise BadInput.at("#/email", "Nobody with this address has an account.")
    row = Membership(user=user, organization=organization, role=role)
    member = make(row, taken=Fault("#/email", "This person is a member already."))
    _record(organization, actor, "member.add", member, after=told(member))
    return member


@transaction.atomic
def change_member(*, organization: Organization, actor: Actor, by: Role, user_id: UUID, role: Role) -> Membership:
    """Give a member another role; the last owner stays one."""
    member = _hold_member(organization, user_id)
    _refuse_above(by, role, Role(member.role))
    if role != Role.OWNER:
        _refuse_last_owner(member)
    before, after = change(member, {"role": role})
    if after:
        _record(organization, actor, "member.change", member, before=before, after=after)
    return member


@transaction.atomic
def remove_member(*, organization: Organization, actor: Actor, by: Role, user_id: UUID) -> None:
    """Show somebody out, and end the tokens they made here; the last owner cannot go."""
    member = _hold_member(organization, user_id)
    _refuse_above(by, Role(member.role))
    _refuse_last_owner(member)
    before = told(member)
    key = member.pk
    member.delete()
    ended = revoke_of(user_id=user_id, organization_id=organization.pk)
    _record(
        organization,
        actor,
        "member.remove",
        Membership(pk=key),
        before=before,
        after={"tokens_ended": ended} if ended else None,
    )


def _hold_member(organization: Organization, user_id: UUID) -> Membership:
    """Lock the organization first, so that two owners cannot leave past each other."""
    hold(Organization.objects.all(), organization.pk)
    members = Membership.objects.select_related("user")
    member = members.filter(organization=organization, user_id=user_id).first()
    if member is None:
        raise NotFound
    return member


def _refuse_above(by: Role, *roles: Role) -> None:
    if Role.OWNER in roles and by != Role.OWNER:
        raise Forbidden("Only an owner makes, changes or removes owners.")


def _refuse_last_owner(member: Membership) -> None:
    owners = Membership.objects.filter(organization_id=member.organization_id, role=Role.OWNER)
    if member.role == Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise Conflict("The last owner cannot go.")


def _taken(slug: str) -> Fault:
    """Points at what was given: a slug made from the name stands in no body."""
    if slug:
        return Fault("#/slug", "This slug is taken.")
    return Fault("#/name", "The slug made from this name is taken: give another name, or a slug.")


def _slug(name: str) -> str:
    slug = slugify(name)[:128]
    if not slug:
        raise BadInput.at("#/slug", "Nothing of this name can stand in an address: give a slug.")
    return slug


def _record(
    organization: Organization,
    actor: Actor,
    action: str,
    target: Organization | Project | Membership,
    **facts: Mapping[str, Any] | None,
) -> None:
    record(
        actor=actor,
        organization_id=organization.pk,
        action=action,
        target_type=target._meta.model_name or "",
        target_id=target.pk,
        **facts,
    )
