"""What is told of the API is drawn from it, and the pages that show it ask nobody else."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client

from apps.accounts.api import drawing
from apps.accounts.api.rules import RULES
from apps.errors import Refusal

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = yaml.safe_load((DOCS / "openapi.yaml").read_text())


@pytest.mark.parametrize("name", ["openapi.yaml", "api.md", "roles.md"])
def test_the_docs_are_as_the_code_would_draw_them(name):
    draw = {"openapi.yaml": drawing.openapi, "api.md": drawing.api, "roles.md": drawing.roles}[name]
    assert (DOCS / name).read_text() == draw(), "run manage.py apidocs"


def test_every_endpoint_has_a_summary_an_example_and_its_refusals():
    operations = {one["operationId"]: one for methods in SCHEMA["paths"].values() for one in methods.values()}
    expected = {
        f"{route}-{method.lower()}" for route in RULES for method in RULES[route] if not route.startswith("schema")
    }
    assert operations.keys() == expected
    for name, one in operations.items():
        assert one["summary"], name
        good = [answer for code, answer in one["responses"].items() if code.startswith("2")]
        assert good, name
        for answer in good:
            for kind, content in answer.get("content", {}).items():
                assert "examples" in content or kind == "*/*", name
        for content in one.get("requestBody", {}).get("content", {}).values():
            assert "examples" in content, name
        assert {"400", "503"} <= one["responses"].keys(), name


def codes(kind: type[Refusal] = Refusal) -> Iterator[tuple[str, int]]:
    """Of every refusal that the endpoints know."""
    import_module("config.urls")
    for one in kind.__subclasses__():
        if one.__module__.startswith(("apps.", "config.")):
            yield one.code, one.status
        yield from codes(one)


def test_the_conventions_name_every_code_a_refusal_has():
    """Those of the framework besides: what it refuses that we have no class for."""
    [listed] = re.findall(r"Programs look at `code`: (.*?)\.\n", (DOCS / "api.md").read_text(), re.S)
    named = {
        (code, int(status))
        for said, status in re.findall(r"((?:`\w+`,?\s+)+)(\d{3})", listed)
        for code in re.findall(r"`(\w+)`", said)
    }
    assert named == {*codes(), ("method_not_allowed", 405), ("unsupported_media_type", 415)}


def shown() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Each operation, the schema of a good answer of it as JSON, and what the document shows of that."""
    for methods in SCHEMA["paths"].values():
        for one in methods.values():
            for code, answer in one["responses"].items():
                content = answer.get("content", {}).get("application/json", {})
                for example in content.get("examples", {}).values() if code.startswith("2") else ():
                    yield one["operationId"], content["schema"], example["value"]


def astray(schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
    """Where an example lacks a field that every answer has, or has one that none has."""
    if "$ref" in schema:
        schema = SCHEMA["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        yield from (f"{at}.{name} is missing" for name in set(schema.get("required", ())) - set(value))
        yield from (f"{at}.{name} is unknown" for name in set(value) - set(known))
        for name in set(value) & set(known):
            yield from astray(known[name], value[name], f"{at}.{name}")
    if isinstance(value, list):
        for one in value:
            yield from astray(schema.get("items", {}), one, f"{at}[]")


def test_what_is_shown_of_an_answer_has_the_fields_that_answers_have():
    assert [wrong for name, schema, value in shown() for wrong in astray(schema, value, name)] == []


def test_an_example_that_lags_behind_is_found():
    name, schema, value = next(one for one in shown() if one[0] == "job-get")
    assert list(astray(schema, {**value, "odd": 1}, name)) == ["job-get.odd is unknown"]
    fewer = {key: one for key, one in value.items() if key != "placement"}
    assert list(astray(schema, fewer, name)) == ["job-get.placement is missing"]


def test_every_id_in_an_address_is_given_by_an_answer_that_links_there():
    shared = SCHEMA["components"]["links"]
    linked: dict[str, set[str]] = {}
    for methods in SCHEMA["paths"].values():
        for answer in (answer for one in methods.values() for answer in one["responses"].values()):
            for link in answer.get("links", {}).values():
                told = shared[link["$ref"].rpartition("/")[2]]
                linked.setdefault(told["operationId"], set()).update(told.get("parameters", {}))
    for path, methods in SCHEMA["paths"].items():
        ids = set(re.findall(r"{(\w+)}", path)) - {"name", "type"}  # texts of a caller's own
        for one in methods.values():
            assert ids <= linked.get(one["operationId"], set()), one["operationId"]


def test_the_document_is_served(db):
    answer = Client().get("/api/v1/schema")
    assert answer.status_code == 200
    assert yaml.safe_load(answer.content)["openapi"] == "3.1.1"


@pytest.mark.parametrize("page", ["swagger", "redoc"])
def test_the_pages_that_show_it_ask_nobody_else(db, page):
    answer = Client().get(f"/api/v1/schema/{page}")
    assert answer.status_code == 200
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", answer.content.decode())
    assert "<script>" not in answer.content.decode()
    assert "script-src" not in answer["Content-Security-Policy"]
    assert "default-src 'self'" in answer["Content-Security-Policy"]
