"""The OpenAPI document: what a method tells of itself, and what all of them share, said once."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers

from apps.accounts.api.links import link
from apps.accounts.api.paging import LIMIT, LIMIT_MAX
from apps.accounts.api.rules import Least, Rule, rule_of
from apps.accounts.serializers.fields import Query

PROBLEM = "application/problem+json"
REFUSED = {
    400: "The input is not valid; `errors` points at each fault.",
    401: "No token or session, or one that has ended.",
    403: "The role or the token's scopes do not allow this.",
    404: "There is no such thing, or it is not yours.",
    409: "Something is in a state that does not allow this.",
    410: "What the first request with this Idempotency-Key made has since been pruned.",
    413: "The body is too large.",
    416: "The range lies outside the file.",
    415: "The body is not application/json.",
    429: "Too many; come again after `Retry-After` seconds.",
    503: "The database does not answer in time; come again after `Retry-After` seconds.",
}
# What a refusal with each status usually says.
CODES = {
    400: ("bad_input", "#/priority: This must be a whole number."),
    401: ("not_authenticated", "This token is unknown, revoked or expired."),
    403: ("forbidden", "This needs the role admin; yours is viewer."),
    404: ("not_found", "There is no such thing, or it is not yours."),
    409: ("conflict", "This name is taken."),
    410: ("gone", "What this request made has since been pruned."),
    413: ("too_large", "The body is larger than 8388608 bytes."),
    415: ("unsupported_media_type", 'Unsupported media type "text/plain" in request.'),
    416: ("range_not_satisfiable", "The range lies outside the file."),
    429: ("too_many_requests", "Too many; wait and try again."),
    503: ("unavailable", "The database does not answer in time; try again."),
}
LEAST = {Least.OPEN: "", Least.OWN: "a login", Least.STAFF: "a login of staff"}
PARAMETERS = {
    "keyed": OpenApiParameter(
        "Idempotency-Key",
        str,
        OpenApiParameter.HEADER,
        description="At most 255 printable characters. A second request with the same key and body is told what "
        "the first one made: 200 and `Idempotency-Replayed: true`.",
    ),
    "limit": OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT},
        description="Rows of a page.",
    ),
    "cursor": OpenApiParameter("cursor", str, description="From `next` or `previous` of another page; opaque, signed."),
}


class FaultAnswer(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="A JSON pointer into the body, ?name of a parameter, or a header.")
    detail = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """RFC 9457. `code` is what programs look at."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    request_id = serializers.CharField()
    errors = FaultAnswer(many=True, required=False)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a method tells of itself: what it takes and answers, with an example of each."""

    summary: str
    ask: type[serializers.Serializer[Any]] | None = None
    asks: Any = None  # an example of it
    answer: Any = None
    example: Any = None
    status: int = 200
    also: tuple[int, ...] = ()  # other statuses of the same answer
    kind: str = ""  # of the answer, when it is a file
    streams: tuple[str, ...] = ()  # the kinds of an answer that comes bit by bit
    query: type[Query] | None = None  # what may stand behind the question mark
    paged: bool = False
    keyed: bool = False
    refusals: tuple[int, ...] = ()  # besides those that all have

    @property
    def answers(self) -> dict[Any, Any]:
        if self.streams:
            return {(200, kind): self.answer for kind in self.streams}
        if self.kind:  # a file: whole, or in part
            return {(200, self.kind): self.answer, (206, self.kind): self.answer}
        return dict.fromkeys([self.status, *self.also, *([200] if self.keyed else [])], self.answer)

    @property
    def examples(self) -> list[OpenApiExample]:
        found = [] if self.asks is None else [OpenApiExample("Request", self.asks, request_only=True)]
        if self.example is None:
            return found
        codes = ["200"] if self.streams else [str(code) for code in self.answers]
        told: dict[str, Any] = {"value": self.example, "response_only": True, "status_codes": codes}
        return [
            *found,
            *(OpenApiExample("Answer", **told, media_type=kind) for kind in self.streams or ("application/json",)),
        ]

    @property
    def parameters(self) -> list[Any]:
        return [
            *([PARAMETERS["keyed"]] if self.keyed else []),
            *([self.query] if self.query else []),
            *([PARAMETERS["limit"], PARAMETERS["cursor"]] if self.paged else []),
        ]


def tells(summary: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say what a method takes and answers, in the words of Told; its docstring is the description."""
    told = Told(summary=summary, **facts)
    known = extend_schema(
        summary=told.summary,
        request=told.ask,
        responses=told.answers,
        examples=told.examples,
        parameters=told.parameters,
    )

    def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
        telling = known(method)
        telling.told = told  # type: ignore[attr-defined]
        return telling

    return wrap


def told_by(method: Callable[..., Any]) -> Told:
    """What a method told of itself."""
    told: Told = getattr(method, "told", Told(summary=""))
    return told


class Schema(AutoSchema):
    """Names operations by their route, and adds to each what it may refuse and who may call it."""

    def get_operation_id(self) -> str:
        return f"{self._route()}-{self.method.lower()}"

    def get_tags(self) -> list[str]:
        return [self.path.split("/")[3]]

    def get_auth(self) -> list[dict[str, Any]]:
        return [] if self._rule().least == Least.OPEN else super().get_auth()

    def get_description(self) -> str:  # type: ignore[override]
        rule = self._rule()
        least = LEAST[rule.least] if isinstance(rule.least, Least) else f"the role {rule.least.value}"
        scope = f"; a token, the scope `{rule.scope}`" if rule.scope else ""
        needs = "" if rule.least == Least.OPEN else f"Needs {least}{scope}."
        own = inspect.cleandoc(getattr(self.view, self.method.lower()).__doc__ or "")
        return "\n\n".join(filter(None, [" ".join(own.split("\n")), needs]))

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            self.resolve_serializer(Problem, "response")  # makes it a component
            for code in self._refusals():
                operation["responses"][str(code)] = {"$ref": f"#/components/responses/Refused{code}"}
            operation["responses"] = dict(sorted(operation["responses"].items()))
        return operation

    def _refusals(self) -> set[int]:
        told = told_by(getattr(self.view, self.method.lower()))
        codes = {400, 429, 503, *told.refusals}
        if self._rule().least != Least.OPEN:
            codes |= {401, 403}
        if "{" in self.path or not isinstance(self._rule().least, Least):
            codes.add(404)
        if told.ask:
            codes |= {413, 415}
        return codes | ({409, 410} if told.keyed else set())

    def _route(self) -> str:
        return str(getattr(self.view, "route", ""))

    def _rule(self) -> Rule:
        return rule_of(self._route(), self.method) or Rule(Least.OPEN)


def finish(result: dict[str, Any], generator: Any, request: Any, public: Any) -> dict[str, Any]:
    """Say the conventions, that bodies take no other fields, and where ids lead (SPECTACULAR_SETTINGS' POSTPROCESSING_HOOKS)."""
    result["info"]["description"] = Path(__file__).with_name("conventions.md").read_text()
    result["components"]["responses"] = {f"Refused{code}": _refused(code) for code in REFUSED}
    for name, schema in result["components"]["schemas"].items():
        if name.endswith("Request") and schema.get("type") == "object":
            schema["additionalProperties"] = False
    link(result)
    return result


def _refused(code: int) -> dict[str, Any]:
    kind, detail = CODES[code]
    example: dict[str, Any] = {
        "type": f"urn:fencepost:problem:{kind}",
        "title": REFUSED[code],
        "status": code,
        "detail": detail,
        "code": kind,
        "request_id": "01a22856-3bac-754a-b89f-8e8e9e32e5c7",
    }
    if code == 409:
        example["title"] = "This name, slug or address is taken."
        example["errors"] = [{"pointer": "#/name", "detail": detail}]
    if code == 400:
        example["errors"] = [{"pointer": "#/priority", "detail": "This must be a whole number."}]
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {"Refusal": {"value": example}}}
    return {"description": REFUSED[code], "content": {PROBLEM: content}}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "apps.accounts.api.authentication.Bearer"
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API token, or what a login answered: `fp_…`."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "apps.accounts.api.authentication.Session"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        words = "With X-CSRFToken on changes. Where HTTPS is on, the cookie's name is `__Host-sessionid`."
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": words}
