"""Tenancy in one place: what a caller may reach is joined to their membership, in the statement that reads it."""

from typing import Any, cast

from django.db.models import F, Model, QuerySet

from apps.accounts.models import ApiToken, Organization, Project, Role
from apps.accounts.selectors.callers import Caller


def reachable[M: Model](rows: QuerySet[M], caller: Caller, *, project: str | None, organization: str) -> QuerySet[M]:
    """Narrow rows to organizations the caller belongs to now, each with the caller's `role` there.

    `project` and `organization` are the lookups that lead from a row to them ("" when it is one
    itself); `project` is None for rows that belong to no project, which a project's token never reaches.
    """
    if caller.project_id and project is None:
        return rows.none()
    wanted: dict[str, Any] = {_to(organization, "memberships__user"): caller.user}
    if caller.organization_id:
        wanted[_to(organization, "pk")] = caller.organization_id
    if project is not None:
        wanted[_to(project, "deleted_at")] = None
    if caller.project_id and project is not None:
        wanted[_to(project, "pk")] = caller.project_id
    return cast("QuerySet[M]", rows.filter(**wanted).annotate(role=F(_to(organization, "memberships__role"))))


def organizations(caller: Caller) -> QuerySet[Organization]:
    """The organizations a caller belongs to."""
    return reachable(Organization.objects.all(), caller, project=None, organization="")


def projects(caller: Caller) -> QuerySet[Project]:
    """The projects a caller may see."""
    return reachable(Project.objects.select_related("organization"), caller, project="", organization="organization")


def tokens(caller: Caller) -> QuerySet[ApiToken]:
    """The tokens of the organizations a caller belongs to; whose they are is for the endpoint to ask."""
    rows = ApiToken.objects.select_related("user")
    return reachable(rows, caller, project=None, organization="organization")


def role_of(row: Model) -> Role:
    """The caller's role, as `reachable` read it together with the row."""
    return Role(row.role)  # type: ignore[attr-defined]


def _to(path: str, lookup: str) -> str:
    return f"{path}__{lookup}" if path else lookup
