"""The pages of docs/ that are drawn from the code: the API as a page to read, and who may do what."""

import io
import json
from collections.abc import Iterator
from typing import Any

from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator

from apps.accounts.api.rules import RULES, SOCKETS, Least, Rule
from apps.accounts.models import Role
from apps.accounts.selectors.callers import COVERS

DRAWN = "<!-- Drawn by manage.py apidocs; a test compares. -->"
BASE = "/api/v1"
type Json = dict[str, Any]


def openapi() -> str:
    """The OpenAPI document, as manage.py spectacular prints it."""
    out = io.StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=out)
    return out.getvalue()


def roles() -> str:
    """Who may do what, one row per endpoint."""
    paths = {operation["operationId"]: path for path, _, operation in _operations(_schema())}
    everybody = [least.value for least in (Least.OPEN, Least.OWN)] + [role.value for role in Role]
    lines = [
        f"# Roles\n\n{DRAWN}\n",
        "The least that may call each endpoint; who may more, may this too. A member of no organization that owns the",
        "thing is told 404, a member with too low a role 403. A token needs the scope besides its maker's role, and never",
        "does more than either allows; a login's token has no scopes, so only roles bound it.\n",
        f"| endpoint | {' | '.join(everybody)} | scope |",
        f"|---|{'---|' * len(everybody)}---|",
    ]
    for route, methods in RULES.items():
        for method, rule in methods.items():
            path = paths.get(f"{route}-{method.lower()}", f"{BASE}/{route.replace('-', '/')}").removeprefix(BASE)
            lines.append(_role_row(f"`{method} {path}`", rule, everybody))
    lines += [_role_row(f"socket `{route}`", rule, everybody) for route, rule in SOCKETS.items()]
    lines += ["\n## Scopes\n", "| scope | covers |", "|---|---|"]
    lines += [
        f"| `{scope}` | {', '.join(f'`{one}`' for one in sorted(covered))} |" for scope, covered in COVERS.items()
    ]
    return "\n".join(lines) + "\n"


def api() -> str:
    """The whole API as a page."""
    schema = _schema()
    lines = [f"# The HTTP API\n\n{DRAWN}\n", schema["info"]["description"], "## Endpoints at a glance\n"]
    lines += ["| endpoint | what it does |", "|---|---|"]
    for path, method, operation in _operations(schema):
        lines.append(
            f"| [`{method} {path.removeprefix(BASE)}`](#{operation['operationId']}) | {operation['summary']} |"
        )
    for path, method, operation in _operations(schema):
        lines += _told(schema, path.removeprefix(BASE), method, operation)
    return "\n".join(lines) + "\n"


def _role_row(name: str, rule: Rule, everybody: list[str]) -> str:
    first = len(everybody) if rule.least == Least.STAFF else everybody.index(rule.least.value)
    marks = ["yes" if place >= first else "–" for place in range(len(everybody))]
    return f"| {name}{' (staff)' if rule.least == Least.STAFF else ''} | {' | '.join(marks)} | {f'`{rule.scope}`' if rule.scope else 'any'} |"


def _schema() -> Json:
    found: Json = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


def _operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _told(schema: Json, path: str, method: str, operation: Json) -> Iterator[str]:
    yield f'\n## <a id="{operation["operationId"]}"></a>`{method} {path}`\n'
    yield f"{operation['summary']}. {' '.join(operation['description'].split())}\n"
    if operation.get("parameters"):
        yield from _table(
            (one["name"], one["schema"], one.get("required", False), one.get("description", ""))
            for one in operation["parameters"]
        )
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield from _fields(schema, content["schema"])
        yield from _examples("Request", content)
    refused = []
    for code, response in operation["responses"].items():
        content = response.get("content", {})
        if "$ref" in response:
            refused.append(code)
        else:
            yield f"Answers {code}{':' if content else '.'}\n"
            for kind in content.values():
                yield from _examples("", kind)
    yield f"Refuses with {', '.join(refused)}."


def _fields(schema: Json, given: Json) -> Iterator[str]:
    rows = list(_rows(schema, _resolved(schema, given)))
    yield from _table(rows) if rows else ["The body is an empty object, or none.\n"]


def _rows(schema: Json, body: Json, within: str = "") -> Iterator[tuple[str, Json, bool, str]]:
    """The fields of an object, and below each that is one itself, its own."""
    needed = body.get("required", [])
    for name, given in body.get("properties", {}).items():
        field = _resolved(schema, given)
        yield within + name, field, name in needed, given.get("description", "")
        yield from _rows(schema, field, f"{within}{name}.")


def _table(rows: Any) -> Iterator[str]:
    yield "| name | type | needed | |"
    yield "|---|---|---|---|"
    for name, kind, needed, description in rows:
        yield f"| `{name}` | {_kind(kind)} | {'yes' if needed else ''} | {' '.join(description.split())} |"
    yield ""


def _kind(schema: Json) -> str:
    """A type in a few words: integer −1000…1000, text of at most 128."""
    kinds = schema.get("type", "any")
    named = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if "enum" in schema:
        return " · ".join(f"`{value}`" for value in schema["enum"])
    if "maxLength" in schema:
        named += f", at most {schema['maxLength']}"
    if "minimum" in schema or "maximum" in schema:
        named += f" {schema.get('minimum', '')}…{schema.get('maximum', '')}"
    return f"{named} ({schema['format']})" if "format" in schema and "m" not in schema["format"][:1] else named


def _resolved(schema: Json, given: Json) -> Json:
    for several in ("allOf", "oneOf"):
        if several in given:
            given = given[several][0]
    if "$ref" not in given:
        return given
    found: Json = schema["components"]["schemas"][given["$ref"].rpartition("/")[2]]
    return found


def _examples(title: str, content: Json) -> Iterator[str]:
    for example in content.get("examples", {}).values():
        if title:
            yield f"{title}:\n"
        yield f"```json\n{json.dumps(example['value'], indent=2, ensure_ascii=False)}\n```\n"
