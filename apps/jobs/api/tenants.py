"""What happens to projects and organizations and touches their jobs."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api import organizations
from apps.accounts.api.schema import tells
from apps.accounts.selectors import reach
from apps.jobs import services
from apps.jobs.serializers import bodies


class OneProject(organizations.OneProject):
    @tells("Delete a project", status=204, query=bodies.Delete, refusals=(409,))
    def delete(self, request: Request, project: UUID) -> Response:
        """With its queues, as these are deleted: refused, with `counts` by state, while one holds jobs, unless
        `cancel=true`. It is gone with the answer, and its slug free."""
        found = self.reach(reach.projects(self.caller), pk=project)
        services.delete_project(project=found, actor=self.actor, **self.asked)
        return Response(status=204)


class OneOrganization(organizations.OneOrganization):
    @tells("Delete an organization", status=204, query=bodies.Delete, refusals=(409,))
    def delete(self, request: Request, org: UUID) -> Response:
        """With its projects, as these are deleted. Nobody is a member of it any more, and every token for it has ended;
        what was done in it stays on record."""
        found = self.reach(reach.organizations(self.caller), pk=org)
        services.delete_organization(organization=found, actor=self.actor, **self.asked)
        return Response(status=204)
