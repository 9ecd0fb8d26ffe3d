"""What every endpoint is: known by its rule, answered to the right people, tried again when the database asks."""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, cast

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import MethodNotAllowed, UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.authentication import Bearer, Session, actor_of, address_of
from apps.accounts.api.parsing import LengthRequired, StrictJSON
from apps.accounts.api.rates import Rate, minutes
from apps.accounts.api.rules import Least, Rule, rule_of
from apps.accounts.api.schema import told_by
from apps.accounts.models import Role
from apps.accounts.selectors import Caller
from apps.accounts.selectors.reach import role_of
from apps.accounts.serializers.fields import Body, Query
from apps.audit.record import Actor
from apps.errors import BadInput, Fault, Forbidden, NotAuthenticated, NotFound, Unavailable
from apps.sql import Trouble, trouble

TRIES = 5  # of a request that the database threw out
COME_AGAIN = 1  # seconds
DOORS = "auth-"  # what routes begin with whose callers are counted by address


class OnlyJSON(BaseContentNegotiation):
    """Whatever is asked for, JSON is what there is."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return DefaultContentNegotiation().select_parser(request, parsers)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type or ""


class Endpoint(APIView):
    """One path. Its methods ask, call one verb and answer; what they need first stands here."""

    authentication_classes: Sequence[type[BaseAuthentication]] = (Bearer, Session)
    permission_classes = ()
    content_negotiation_class = OnlyJSON
    parser_classes = (StrictJSON,)
    http_method_names = ["get", "post", "patch", "delete", "head"]
    route: str  # its name in the table of rules
    rule: Rule
    rate: Rate | None = None  # what is left of the caller's minute
    allowed = False  # whether a row that the rule's role was checked against has been reached

    @classmethod
    def at(cls, where: str) -> URLPattern:
        """The path this endpoint stands at."""
        return path(where, cls.as_view(), name=cls.route)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; deadlocks and the like are tried again from the start, which is why methods only do one thing."""
        self.args, self.kwargs = args, kwargs
        self.request: Request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            response = tried(self._answer)
        except Exception as error:  # noqa: BLE001
            response = self.handle_exception(error)
        self.response = self.finalize_response(self.request, response, *args, **kwargs)
        return self.response

    def _answer(self) -> HttpResponse:
        request = self.request
        rule = rule_of(self.route, request.method or "")
        if rule is None:
            raise MethodNotAllowed(request.method or "")
        self.rule, self.allowed = rule, False
        self.initial(request, *self.args, **self.kwargs)
        return cast("HttpResponse", self._handler()(request, *self.args, **self.kwargs))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self._count()
        if self.rule.least != Least.OPEN:
            self._refuse_strangers()
        _refuse_lengthless(request)
        self.asked = self._read_query()

    def _count(self) -> None:
        """By token, or by user for a session; at the doors by address, whoever knocks."""
        caller, self.rate = self.request.auth, None
        if self.route.startswith(DOORS) and settings.AUTH_RATE_PER_MINUTE:
            self.rate = minutes.count(address_of(self.request), settings.AUTH_RATE_PER_MINUTE)
        elif isinstance(caller, Caller) and settings.RATE_PER_MINUTE:
            self.rate = minutes.count(caller.token_id or caller.user.pk, settings.RATE_PER_MINUTE)

    def _refuse_strangers(self) -> None:
        if not isinstance(self.request.auth, Caller):
            raise NotAuthenticated
        if not self.caller.covers(self.rule.scope):
            raise Forbidden(f"This token lacks the scope {self.rule.scope}.")
        if self.rule.least == Least.STAFF and not self.caller.user.is_staff:
            raise Forbidden("This is for staff.")

    def _read_query(self) -> dict[str, Any]:
        given = self.request.query_params
        faults = [Fault(f"?{name}", "Give this once.") for name, values in given.lists() if len(values) > 1]
        if faults:
            raise BadInput(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)
        told = told_by(self._handler())
        paged = ("cursor", "limit") if told.paged else ()  # the pager reads these itself
        query = told.query or Query
        return query(data={name: text for name, text in given.items() if name not in paged}).checked()

    def _handler(self) -> Callable[..., Any]:
        method = (self.request.method or "").lower()
        return cast("Callable[..., Any]", getattr(self, "get" if method == "head" else method))

    @property
    def caller(self) -> Caller:
        return cast("Caller", self.request.auth)

    @property
    def actor(self) -> Actor:
        return actor_of(self.request)

    @property
    def sent(self) -> dict[str, Any]:
        """The body as it came, an object of clean JSON; for verbs that check it themselves."""
        return cast("dict[str, Any]", self.request.data)

    def body(self, kind: type[Body], **options: Any) -> dict[str, Any]:
        """The body, checked; raises BadInput with a pointer to each fault."""
        return kind(data=self.request.data, **options).checked()

    def reach[M: Model](self, rows: QuerySet[M], **which: Any) -> M:
        """One row among those the caller may reach, if their role there allows what this endpoint does."""
        # first() would have it sorted, which costs to say.
        return self.allow(next(iter(rows.filter(**which).order_by()[:1]), None))

    def allow[M: Model](self, row: M | None) -> M:
        """Check the role that was read with a row. Raises NotFound where there is none."""
        if row is None:
            raise NotFound
        self.role = role_of(row)
        if isinstance(self.rule.least, Role) and self.role.level < self.rule.least.level:
            raise Forbidden(f"This needs the role {self.rule.least.value}; yours is {self.role.value}.")
        self.allowed = True
        return row

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """Let no answer out that nobody checked a role for."""
        fine = response.status_code >= 400 or not isinstance(self.rule.least, Role) or self.allowed
        assert fine, f"{type(self).__name__} answered without reaching a row"  # noqa: S101
        response["Cache-Control"] = "no-store"
        for name, value in self.rate.headers.items() if self.rate else ():
            response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        raise Forbidden(message or "")


def tried[T](call: Callable[[], T]) -> T:
    """Call, and again up to five times while the database says that nothing happened and it may go better."""
    connection = connections[DEFAULT_DB_ALIAS]
    for turn in range(1, TRIES + 1):
        try:
            return call()
        except Error as error:
            kind = trouble(error)
            if kind == Trouble.FATAL:
                raise
            if kind == Trouble.UNKNOWN or turn == TRIES or connection.in_atomic_block:
                raise Unavailable(retry_after=COME_AGAIN) from error
            connection.close_if_unusable_or_obsolete()
            time.sleep(random.uniform(0, 0.01 * 2**turn))  # noqa: S311
    raise AssertionError("unreachable")


def _refuse_lengthless(request: Request) -> None:
    """A body without a length is not read by WSGI at all, and one that is packed could unpack to anything."""
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        raise LengthRequired
    if request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise UnsupportedMediaType(request.META["HTTP_CONTENT_ENCODING"], "Send the body unpacked.")
    if request.method in ("POST", "PATCH"):
        _ = request.data  # parsed before anything is looked up, so that a bad body costs no statement
