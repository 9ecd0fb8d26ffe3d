"""What a browser is told in production: cookies and headers that keep a page among its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PRODUCTION = {
    "ENVIRONMENT": "production",
    "SECRET_KEY": "a-key-of-many-different-signs-that-is-long-enough-for-us",
    "ALLOWED_HOSTS": "jobs.example.com",
    "DATABASE_URL": "postgres://fencepost:long-and-wild@db.example.com/fencepost?sslmode=verify-full",
    "EMAIL_URL": "smtp+tls://user:password@mail.example.com:587",
}
ASK = """
import django, json
django.setup()
from django.test import Client
from django.conf import settings
asked = Client(SERVER_NAME="jobs.example.com").get("/accounts/login/", secure=True)
cookies = {name: dict(morsel) for name, morsel in asked.cookies.items()}
plain = Client(SERVER_NAME="jobs.example.com").get("/accounts/login/")
print(json.dumps({
    "status": asked.status_code, "headers": dict(asked.headers), "cookies": cookies,
    "session": [settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE, settings.SESSION_COOKIE_HTTPONLY],
    "plain": [plain.status_code, plain.headers["Location"]],
}))
"""


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | PRODUCTION | {"DJANGO_SETTINGS_MODULE": "config.settings"} | more
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def told() -> Any:
    done = run("-c", ASK, DEBUG="on")  # or the static files would have to be collected first
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_its_cookies_are_of_this_host_alone_and_travel_over_https(told):
    [(name, cookie)] = told["cookies"].items()
    assert name == "__Host-csrftoken"
    assert (cookie["secure"], cookie["path"], cookie["domain"], cookie["samesite"]) == (True, "/", "", "Lax")
    assert told["session"] == ["__Host-sessionid", True, True]


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Strict-Transport-Security", "max-age=31536000; includeSubDomains; preload"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("X-Frame-Options", "DENY"),
    ],
)
def test_its_headers_are_all_there(told, header, value):
    assert told["headers"][header] == value


def test_its_policy_lets_nothing_in_and_nobody_frame_it(told):
    policy = dict(part.strip().partition(" ")[::2] for part in told["headers"]["Content-Security-Policy"].split(";"))
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert policy["default-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in str(policy)


def test_the_door_is_kept_by_no_cache_and_plain_http_leads_to_https(told):
    assert told["status"] == 200
    assert "no-store" in told["headers"]["Cache-Control"]
    assert told["plain"] == [301, "https://jobs.example.com/accounts/login/"]


def test_the_frameworks_own_checks_of_a_deployment_find_nothing():
    done = run("manage.py", "check", "--deploy")
    assert done.returncode == 0, done.stderr
    found = set(re.findall(r"\((\w+\.\w+)\)", done.stdout + done.stderr))
    assert found <= {"fencepost.W003"}  # nobody has collected static files here
