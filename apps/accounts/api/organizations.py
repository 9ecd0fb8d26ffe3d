"""Organizations, their members and their projects."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.models import Membership, Organization, Project
from apps.accounts.selectors import reach
from apps.accounts.serializers import accounts as bodies
from apps.accounts.services import organizations as services
from apps.errors import Forbidden, NotFound

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
AT = "2027-03-14T07:00:00Z"
ORGANIZATION = {"id": ID, "name": "Acme", "slug": "acme", "role": "owner", "created_at": AT}
MEMBER = {"user_id": ID, "email": "ada@example.com", "name": "Ada", "role": "admin", "created_at": AT}
PROJECT = {
    "id": ID,
    "organization": ID,
    "name": "Media",
    "slug": "media",
    "hide_payloads_below": "viewer",
    "created_at": AT,
}


def page(*items: Any) -> dict[str, Any]:
    """A page with nothing beside it."""
    return {"results": list(items), "next": None, "previous": None}


class Organizations(Endpoint):
    route = "orgs"

    @tells(
        "List your organizations",
        answer=bodies.page_of(bodies.OrganizationAnswer),
        example=page(ORGANIZATION),
        paged=True,
    )
    def get(self, request: Request) -> Response:
        pager = Pager(request, within=self.caller.user.pk)
        found = pager.rows(reach.organizations(self.caller))
        return Response(pager.answer(found, _organization, lambda row: row.pk))

    @tells(
        "Make an organization",
        ask=bodies.NewOrganization,
        answer=bodies.OrganizationAnswer,
        status=201,
        asks={"name": "Acme", "slug": "acme"},
        example=ORGANIZATION,
        keyed=True,
    )
    def post(self, request: Request) -> Response:
        """You are its first owner."""
        if self.caller.organization_id:
            raise Forbidden("This token was made for one organization, and makes no other.")
        asked = self.body(bodies.NewOrganization)
        user = self.caller.user

        def make() -> Made:
            made = services.create_organization(owner=user, actor=self.actor, **asked)
            return Made([made.pk], self._show([made.pk]))

        return once(request, scope_id=user.pk, make=make, show=self._show)

    def _show(self, ids: list[UUID]) -> dict[str, Any]:
        return _organization(self.reach(reach.organizations(self.caller), pk__in=ids))


class OneOrganization(Endpoint):
    """Its DELETE stands in apps/jobs/api, and so does its path."""

    route = "org"

    @tells("Show an organization", answer=bodies.OrganizationAnswer, example=ORGANIZATION)
    def get(self, request: Request, org: UUID) -> Response:
        return Response(_organization(self.reach(reach.organizations(self.caller), pk=org)))

    @tells(
        "Change an organization",
        ask=bodies.ChangeOrganization,
        answer=bodies.OrganizationAnswer,
        asks={"name": "Acme"},
        example=ORGANIZATION,
    )
    def patch(self, request: Request, org: UUID) -> Response:
        found = self.reach(reach.organizations(self.caller), pk=org)
        changed = services.update_organization(
            organization=found, actor=self.actor, **self.body(bodies.ChangeOrganization)
        )
        changed.role = self.role  # type: ignore[attr-defined]
        return Response(_organization(changed))


class Members(Endpoint):
    route = "org-members"

    @tells("List members", answer=bodies.page_of(bodies.MemberAnswer), example=page(MEMBER), paged=True)
    def get(self, request: Request, org: UUID) -> Response:
        self.reach(reach.organizations(self.caller), pk=org)
        pager = Pager(request, within=org)
        found = pager.rows(Membership.objects.filter(organization_id=org).select_related("user"))
        return Response(pager.answer(found, _member, lambda row: row.pk))

    @tells(
        "Let somebody in",
        ask=bodies.NewMember,
        answer=bodies.MemberAnswer,
        status=201,
        asks={"email": "ada@example.com", "role": "admin"},
        example=MEMBER,
        keyed=True,
    )
    def post(self, request: Request, org: UUID) -> Response:
        """The person must have an account. Only owners make owners."""
        found = self.reach(reach.organizations(self.caller), pk=org)
        asked = self.body(bodies.NewMember)

        def make() -> Made:
            made = services.add_member(organization=found, actor=self.actor, by=self.role, **asked)
            return Made([made.pk], _member(made))

        return once(request, scope_id=org, make=make, show=lambda ids: _member(_one_member(org, ids)))


class OneMember(Endpoint):
    route = "org-member"

    @tells(
        "Give a member another role",
        ask=bodies.ChangeMember,
        answer=bodies.MemberAnswer,
        asks={"role": "viewer"},
        example={**MEMBER, "role": "viewer"},
        refusals=(409,),
    )
    def patch(self, request: Request, org: UUID, user: UUID) -> Response:
        """Only owners make or change owners, and the last one stays."""
        found = self.reach(reach.organizations(self.caller), pk=org)
        asked = self.body(bodies.ChangeMember)
        changed = services.change_member(organization=found, actor=self.actor, by=self.role, user_id=user, **asked)
        return Response(_member(changed))

    @tells("Show a member out", status=204, refusals=(409,))
    def delete(self, request: Request, org: UUID, user: UUID) -> Response:
        """Only owners remove owners, and the last one cannot go."""
        found = self.reach(reach.organizations(self.caller), pk=org)
        services.remove_member(organization=found, actor=self.actor, by=self.role, user_id=user)
        return Response(status=204)


class Projects(Endpoint):
    route = "org-projects"

    @tells("List projects", answer=bodies.page_of(bodies.ProjectAnswer), example=page(PROJECT), paged=True)
    def get(self, request: Request, org: UUID) -> Response:
        self.reach(reach.organizations(self.caller), pk=org)
        pager = Pager(request, within=org)
        found = pager.rows(Project.objects.filter(organization_id=org))
        return Response(pager.answer(found, _project, lambda row: row.pk))

    @tells(
        "Make a project",
        ask=bodies.NewProject,
        answer=bodies.ProjectAnswer,
        status=201,
        asks={"name": "Media", "slug": "media"},
        example=PROJECT,
        keyed=True,
    )
    def post(self, request: Request, org: UUID) -> Response:
        found = self.reach(reach.organizations(self.caller), pk=org)
        asked = self.body(bodies.NewProject)

        def make() -> Made:
            made = services.create_project(organization=found, actor=self.actor, **asked)
            return Made([made.pk], _project(made))

        def show(ids: list[UUID]) -> dict[str, Any]:
            return _project(self.reach(reach.projects(self.caller), pk__in=ids))

        return once(request, scope_id=org, make=make, show=show)


class OneProject(Endpoint):
    """Its DELETE stands in apps/jobs/api, and so does its path."""

    route = "project"

    @tells("Show a project", answer=bodies.ProjectAnswer, example=PROJECT)
    def get(self, request: Request, project: UUID) -> Response:
        return Response(_project(self.reach(reach.projects(self.caller), pk=project)))

    @tells(
        "Change a project",
        ask=bodies.ChangeProject,
        answer=bodies.ProjectAnswer,
        asks={"hide_payloads_below": "member"},
        example={**PROJECT, "hide_payloads_below": "member"},
    )
    def patch(self, request: Request, project: UUID) -> Response:
        found = self.reach(reach.projects(self.caller), pk=project)
        changed = services.update_project(project=found, actor=self.actor, **self.body(bodies.ChangeProject))
        return Response(_project(changed))


def _one_member(org: UUID, ids: list[UUID]) -> Membership:
    member = Membership.objects.filter(organization_id=org, pk__in=ids).select_related("user").first()
    if member is None:
        raise NotFound
    return member


def _organization(row: Organization) -> dict[str, Any]:
    return bodies.OrganizationAnswer(row).data


def _member(row: Membership) -> dict[str, Any]:
    return bodies.MemberAnswer(row).data


def _project(row: Project) -> dict[str, Any]:
    return bodies.ProjectAnswer(row).data
