"""What every request passes."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
from django.conf import settings
from django.http import HttpRequest
from django.test import AsyncClient, Client, RequestFactory

from config.middleware import login_name

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _clean_context():
    yield
    structlog.contextvars.clear_contextvars()


def test_a_sane_request_id_is_kept_and_bound(client):
    response = client.get("/nowhere", headers={"X-Request-Id": "from-the-proxy.1"})
    assert response["X-Request-Id"] == "from-the-proxy.1"
    assert structlog.contextvars.get_contextvars()["request_id"] == "from-the-proxy.1"


@pytest.mark.parametrize("given", ["", "two words", "line\nbreak", "x" * 129, "é"])
def test_any_other_is_replaced(given):
    response = Client().get("/nowhere", headers={"X-Request-Id": given})
    assert response["X-Request-Id"] != given
    assert len(response["X-Request-Id"]) == 36


async def test_the_async_way_says_it_too():
    response = await AsyncClient().get("/nowhere", headers={"X-Request-Id": "abc"})
    assert response["X-Request-Id"] == "abc"


def test_static_files_come_as_bytes_and_are_not_sent_twice():
    first = Client().get("/static/admin/css/base.css")
    assert (first.status_code, first.streaming) == (200, False)
    assert first["Content-Type"].startswith("text/css")
    again = Client().get("/static/admin/css/base.css", headers={"If-Modified-Since": first["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")
    assert Client().head("/static/admin/css/base.css").content == b""


def test_pages_have_a_strict_content_policy(client):
    policy = client.get("/nowhere")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("credentials", "form"),
    [
        ({"email": " Ann@Example.com"}, {}),
        ({"username": "ann@example.com"}, {}),
        (None, {"login": "ANN@example.com"}),
        ({"email": "ann@\uff45xample.com"}, {}),
    ],
)
def test_failed_logins_are_counted_by_one_spelling(credentials, form):
    request: HttpRequest = RequestFactory().post("/", form)
    assert login_name(request, credentials) == "ann@example.com"


def test_json_lines_carry_context_and_no_local_variables():
    script = """
import structlog, config.settings, logging.config
logging.config.dictConfig(config.settings.LOGGING)
structlog.contextvars.bind_contextvars(request_id="abc")
def fail(token): raise ValueError("why")
try: fail("a" + "-secret")
except ValueError: structlog.get_logger("x").exception("failed", attempt="1/5")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=os.environ | {"LOG_FORMAT": "json"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    line = json.loads(done.stderr)
    assert (line["event"], line["level"], line["request_id"], line["attempt"]) == ("failed", "error", "abc", "1/5")
    assert "ValueError" in done.stderr
    assert "a-secret" not in done.stderr


def test_django_logs_go_the_same_way():
    assert logging.getLogger("django").handlers == []
    assert settings.LOGGING["root"]["handlers"] == ["stderr"]
