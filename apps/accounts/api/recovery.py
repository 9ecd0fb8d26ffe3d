"""For who has forgotten a password or must show that an address is theirs. Nobody learns here who has an account."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.authentication import address_of
from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.passwords import hashing
from apps.accounts.api.schema import tells
from apps.accounts.serializers import people as bodies
from apps.accounts.services import recovery
from apps.audit.record import Actor

KEY = "1a2b3c-dbk1up-3f7d9c5bfd8dd1a9e4c1b0b8a7e6d5c4"


class Reset(Endpoint):
    route = "auth-password-reset"
    authentication_classes = ()

    @tells("Ask for a new password", ask=bodies.Reset, status=204, asks={"email": "ada@example.com"}, refusals=(429,))
    def post(self, request: Request) -> Response:
        """If the address has an account, a mail with a key goes there; the answer and its time are the same if not."""
        recovery.ask_later(email=self.body(bodies.Reset)["email"], request=request._request)
        return Response(status=204)


class Confirm(Endpoint):
    route = "auth-password-reset-confirm"
    authentication_classes = ()

    @tells(
        "Set a new password",
        ask=bodies.ConfirmReset,
        status=204,
        asks={"key": KEY, "new_password": "twelve angry staples"},
        refusals=(429,),
    )
    def post(self, request: Request) -> Response:
        """The key is the end of the link in the mail. Ends every session and login token of the user."""
        asked = self.body(bodies.ConfirmReset)
        with hashing():
            recovery.reset(**asked, actor=_somebody(request))
        return Response(status=204)


class Verify(Endpoint):
    route = "auth-verify"
    authentication_classes = ()

    @tells("Confirm an address", ask=bodies.Verify, status=204, asks={"key": "MQ:1vXyZa:…"}, refusals=(429,))
    def post(self, request: Request) -> Response:
        """The key is the end of the link that was sent there."""
        recovery.verify(**self.body(bodies.Verify), request=request._request, actor=_somebody(request))
        return Response(status=204)


def _somebody(request: Request) -> Actor:
    """Whoever has the key; the service says who that makes them."""
    return Actor(name="", address=address_of(request), request_id=request.META["HTTP_X_REQUEST_ID"])
