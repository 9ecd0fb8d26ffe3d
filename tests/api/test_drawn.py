"""What is told of the API is drawn from it, and the pages that show it ask nobody else."""

import re
from pathlib import Path

import pytest
import yaml
from django.test import Client

from apps.accounts.api import drawing
from apps.accounts.api.rules import RULES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["openapi.yaml", "api.md", "roles.md"])
def test_the_docs_are_as_the_code_would_draw_them(name):
    draw = {"openapi.yaml": drawing.openapi, "api.md": drawing.api, "roles.md": drawing.roles}[name]
    assert (DOCS / name).read_text() == draw(), "run manage.py apidocs"


def test_every_endpoint_has_a_summary_an_example_and_its_refusals():
    schema = yaml.safe_load((DOCS / "openapi.yaml").read_text())
    operations = {one["operationId"]: one for methods in schema["paths"].values() for one in methods.values()}
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
