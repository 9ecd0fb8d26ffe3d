"""The tokens of an organization: made for programs, shown once, renewed and ended."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.models import ApiToken, Project, Role
from apps.accounts.selectors import reach
from apps.accounts.serializers import accounts as pages
from apps.accounts.serializers import tokens as bodies
from apps.accounts.services import tokens as services
from apps.errors import BadInput, Forbidden

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
AT = "2027-03-14T07:00:00Z"
TOKEN = {
    "id": ID,
    "name": "nightly import",
    "user_id": ID,
    "email": "ada@example.com",
    "scopes": ["submit"],
    "project": ID,
    "hint": "IBp9",
    "created_at": AT,
    "expires_at": "2028-03-14T07:00:00Z",
    "last_used_at": None,
    "revoked_at": None,
}
SHOWN_ONCE = {**TOKEN, "token": "fp_6rPTD6ZU2kbuc37bFyKJsWFXHcVuQU2oIBp9"}


class Tokens(Endpoint):
    route = "org-tokens"

    @tells(
        "List tokens",
        answer=pages.page_of(bodies.TokenAnswer),
        example={"results": [TOKEN], "next": None, "previous": None},
        paged=True,
    )
    def get(self, request: Request, org: UUID) -> Response:
        """Those you made; an admin sees everybody's. Also those that have ended. No text of one is ever shown again."""
        self.reach(reach.organizations(self.caller), pk=org)
        tokens = ApiToken.objects.filter(organization_id=org).select_related("user")
        if self.role.level < Role.ADMIN.level:
            tokens = tokens.filter(user=self.caller.user)
        pager = Pager(request, within=(org, self.caller.user.pk, self.role))
        return Response(pager.answer(pager.rows(tokens), _shown, lambda row: row.pk))

    @tells(
        "Make a token",
        ask=bodies.NewToken,
        answer=bodies.MadeTokenAnswer,
        status=201,
        asks={"name": "nightly import", "scopes": ["submit"], "project": ID, "expires_at": "2028-03-14T07:00:00Z"},
        example=SHOWN_ONCE,
    )
    def post(self, request: Request, org: UUID) -> Response:
        """Its text is in this answer and nowhere else. It does no more than its scopes and your role, as it is at each
        request, both allow. A token makes none that could do what it cannot itself, or that would outlive it."""
        organization = self.reach(reach.organizations(self.caller), pk=org)
        asked = self.body(bodies.NewToken)
        project = self._project(org, asked.pop("project", None))
        token, text = services.create_token(
            by=self.caller, organization=organization, actor=self.actor, project=project, **asked
        )
        return Response(_told(token, text), status=201)

    def _project(self, org: UUID, given: UUID | None) -> Project | None:
        if given is None:
            return None
        found = reach.projects(self.caller).filter(pk=given, organization_id=org).first()
        if found is None:
            raise BadInput.at("#/project", "There is no such project in this organization.")
        return found


class OneToken(Endpoint):
    route = "token"

    @tells("End a token", status=204)
    def delete(self, request: Request, token: UUID) -> Response:
        """At once: the next request with it is refused. Your own, or as an admin anybody's; one that has ended stays so."""
        found = self.reach(reach.tokens(self.caller), pk=token)
        if self.role.level < Role.ADMIN.level and found.user_id != self.caller.user.pk:
            raise Forbidden("Somebody else made this token; an admin may end it.")
        services.revoke(token=found, actor=self.actor)
        return Response(status=204)


class RotateToken(Endpoint):
    route = "token-rotate"

    @tells(
        "Give a token a new text",
        ask=bodies.Rotate,
        answer=bodies.MadeTokenAnswer,
        asks={},
        example=SHOWN_ONCE,
        refusals=(409,),
    )
    def post(self, request: Request, token: UUID) -> Response:
        """The old text ends at once; all else stays. Only your own: whoever has the text has your rights."""
        found = self.reach(reach.tokens(self.caller), pk=token)
        self.body(bodies.Rotate)
        if found.user_id != self.caller.user.pk:
            raise Forbidden("Somebody else made this token: its text would have their rights.")
        return Response(_told(*services.rotate(token=found, by=self.caller, actor=self.actor)))


def _shown(token: ApiToken) -> dict[str, Any]:
    return bodies.TokenAnswer(token).data


def _told(token: ApiToken, text: str) -> dict[str, Any]:
    return {**_shown(token), "token": text}
