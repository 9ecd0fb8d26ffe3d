"""Where one is logged in, and how to end it."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.organizations import page
from apps.accounts.api.people import refuse_api_tokens
from apps.accounts.api.schema import tells
from apps.accounts.selectors.sessions import Place, places
from apps.accounts.serializers import people as bodies
from apps.accounts.services import sessions

PLACE = {
    "id": "01a22856-3bac-754a-b89f-8e8e9e32e5c7",
    "way": "login",
    "created_at": "2027-03-14T07:00:00Z",
    "last_used_at": "2027-03-14T07:05:00Z",
    "address": None,
    "client": "",
    "current": True,
}


class Sessions(Endpoint):
    route = "auth-sessions"

    @tells("List your log-ins", answer=bodies.PlacesAnswer, example=page(PLACE))
    def get(self, request: Request) -> Response:
        """The pages' sessions and the tokens that POST /auth/login answered, newest first; those that have ended are gone."""
        return Response(bodies.PlacesAnswer(page(*self.places())).data)

    @tells("End your other log-ins", status=204)
    def delete(self, request: Request) -> Response:
        """All but the one that asks; tokens made for programs stay."""
        others = [one for one in self.places() if not one.current]
        sessions.end_all(user=self.caller.user, places=others, actor=self.actor)
        return Response(status=204)

    def places(self) -> list[Place]:
        refuse_api_tokens(self)
        browser: Any = self.request._request
        key = None if self.caller.token_id else browser.session.session_key
        return places(self.caller.user, token_id=self.caller.token_id, session_key=key)


class OneSession(Endpoint):
    route = "auth-session"

    @tells("End a log-in", status=204)
    def delete(self, request: Request, login: UUID) -> Response:
        """At once; also the one that asks."""
        refuse_api_tokens(self)
        sessions.end(user=self.caller.user, key=login, actor=self.actor)
        return Response(status=204)
