"""Registering, logging in and out, and who one is."""

from typing import Any

from django.conf import settings
from django.contrib.auth import logout, update_session_auth_hash
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.authentication import address_of
from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.passwords import authenticated, hashing, refuse_flood
from apps.accounts.api.schema import tells
from apps.accounts.models import ApiToken, Membership, User
from apps.accounts.serializers import accounts as bodies
from apps.accounts.services import people, tokens
from apps.audit.record import Actor
from apps.errors import Forbidden

USER = {"id": "01a22856-3bac-754a-b89f-8e8e9e32e5c7", "email": "ada@example.com", "name": "Ada"}
LOGIN = {
    "token": "fp_6rPTD6ZU2kbuc37bFyKJsWFXHcVuQU2oIBp9",
    "user_id": USER["id"],
    "issued_at": "2027-03-14T07:00:00Z",
    "expires_at": "2027-04-13T07:00:00Z",
}
CREDENTIALS = {"email": "ada@example.com", "password": "correct horse battery staple"}


class Register(Endpoint):
    route = "auth-register"
    authentication_classes = ()

    @tells(
        "Make an account",
        ask=bodies.Register,
        answer=bodies.RegisterAnswer,
        status=201,
        asks=CREDENTIALS,
        example={"user": USER, "token": LOGIN},
        refusals=(409, 429),
    )
    def post(self, request: Request) -> Response:
        """Answers a token at once, unless the address must first be confirmed by mail."""
        asked = self.body(bodies.Register)
        refuse_flood(request)
        with hashing():
            user = people.register(**asked, **_from(request))
        if settings.EMAIL_VERIFICATION != "none":
            people.confirm(user=user, request=request._request)
        token = None if settings.EMAIL_VERIFICATION == "mandatory" else _log_in(request, user)
        return Response(bodies.RegisterAnswer({"user": user, "token": token}).data, status=201)


class Login(Endpoint):
    route = "auth-login"
    authentication_classes = ()

    @tells(
        "Log in",
        ask=bodies.Login,
        answer=bodies.LoginAnswer,
        asks=CREDENTIALS,
        example=LOGIN,
        refusals=(401, 403, 429),
    )
    def post(self, request: Request) -> Response:
        """Answers a token with the user's own rights. Who has a second factor sends its `code` along, else the refusal
        has the code `second_factor_required`. Ten failures lock the account for that address a while."""
        asked = self.body(bodies.Login)
        user = authenticated(request, code=asked.pop("code", ""), **asked)
        if settings.EMAIL_VERIFICATION == "mandatory" and not people.is_confirmed(user=user):
            raise Forbidden("Confirm the address first: follow the link that was sent to it.")
        return Response(bodies.LoginAnswer(_log_in(request, user)).data)


class Logout(Endpoint):
    route = "auth-logout"

    @tells("Log out", ask=bodies.Logout, status=204, asks={})
    def post(self, request: Request) -> Response:
        """Ends the login token, or the session, that the request came with."""
        self.body(bodies.Logout)
        if self.caller.token_id is None:
            logout(request._request)
        else:
            refuse_api_tokens(self)
            tokens.log_out(token_id=self.caller.token_id, actor=self.actor)
        return Response(status=204)


class Me(Endpoint):
    route = "auth-me"

    @tells(
        "Who am I",
        answer=bodies.MeAnswer,
        example={
            **USER,
            "memberships": [{"organization": USER["id"], "slug": "acme", "role": "owner"}],
            "scopes": None,
        },
    )
    def get(self, request: Request) -> Response:
        caller = self.caller
        memberships = Membership.objects.filter(user=caller.user).select_related("organization")
        if caller.organization_id:
            memberships = memberships.filter(organization_id=caller.organization_id)
        scopes = None if caller.scopes is None else sorted(caller.scopes)
        person = {"id": caller.user.pk, "email": caller.user.email, "name": caller.user.name}
        told = {**person, "memberships": memberships.order_by("id"), "scopes": scopes}
        return Response(bodies.MeAnswer(told).data)


class Password(Endpoint):
    route = "auth-password"

    @tells(
        "Change the password",
        ask=bodies.Password,
        status=204,
        asks={"current_password": "correct horse battery staple", "new_password": "twelve angry staples"},
        refusals=(429,),
    )
    def post(self, request: Request) -> Response:
        """Ends every other session and login token of the user."""
        refuse_api_tokens(self)
        asked = self.body(bodies.Password)
        user = authenticated(request, email=self.caller.user.email, password=asked["current_password"])
        keep = self.caller.token_id
        people.change_password(user=user, password=asked["new_password"], actor=self.actor, keep=keep)
        if keep is None:
            update_session_auth_hash(request._request, user)
        return Response(status=204)


def _log_in(request: Request, user: User) -> dict[str, Any]:
    actor = Actor(name=user.email, user_id=user.pk, **_from(request))
    token, text = tokens.create_login(user=user, actor=actor)
    return _told(token, text)


def _told(token: ApiToken, text: str) -> dict[str, Any]:
    return {
        "token": text,
        "user_id": token.user_id,
        "issued_at": token.created_at,
        "expires_at": token.expires_at,
    }


def _from(request: Request) -> dict[str, Any]:
    return {"address": address_of(request), "request_id": request.META["HTTP_X_REQUEST_ID"]}


def refuse_api_tokens(endpoint: Endpoint) -> None:
    """Some things are for people alone."""
    if endpoint.caller.is_api_token:
        raise Forbidden("An API token cannot do this: it was made by a login, not for one.")
