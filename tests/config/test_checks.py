"""What production refuses, id by id."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.db.utils import OperationalError

from apps.audit.checks import check_postgres, check_settings

ROOT = Path(__file__).parents[2]
SAFE = {
    "ENVIRONMENT": "production",
    "PRODUCTION": True,
    "DEBUG": False,
    "SECRET_KEY": "xyzabc" * 9,
    "SECRET_KEY_FALLBACKS": [],
    "ALLOWED_HOSTS": ["jobs.example.com"],
    "ALLOWED_ORIGINS": ["https://ops.example.com"],
    "SESSION_COOKIE_SECURE": True,
    "CSRF_COOKIE_SECURE": True,
    "SECURE_SSL_REDIRECT": True,
    "SECURE_HSTS_SECONDS": 31_536_000,
    "DATABASE_URL": "postgres://…",
    "DATABASES": {
        "default": {"HOST": "db.example.com", "PASSWORD": "long and wild", "OPTIONS": {"sslmode": "verify-full"}}
    },
    "HTTP_ALLOW_PRIVATE": [],
    "METRICS_TOKEN": "",
    "LOG_FORMAT": "json",
}
DATABASE: dict[str, Any] = SAFE["DATABASES"]["default"]  # type: ignore[index]

ASKED = {"LLM_API_KEY": "k", "LLM_MODEL": "small"}


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Set settings as production has them, one changed; not through Django, which would tell its listeners."""
    from django.conf import settings

    (tmp_path / "staticfiles.json").write_text("{}")

    def change(**changes: Any) -> list[str | None]:
        for name, value in (SAFE | {"STATIC_ROOT": tmp_path} | changes).items():
            monkeypatch.setattr(settings, name, value)
        return [found.id for found in check_settings()]

    return change


def test_safe_settings_pass(production):
    assert production() == []


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("E001", {"SECRET_KEY": "short"}),
        ("E001", {"SECRET_KEY": "abcd" * 20}),
        ("E001", {"SECRET_KEY": f"django-insecure-{'abcdef' * 9}"}),
        ("E001", {"SECRET_KEY_FALLBACKS": ["short"]}),
        ("E002", {"ALLOWED_HOSTS": ["*"]}),
        ("E002", {"ALLOWED_HOSTS": []}),
        ("E002", {"ALLOWED_ORIGINS": ["*"]}),
        ("E002", {"ALLOWED_ORIGINS": ["https://*"]}),
        ("E003", {"DEBUG": True}),
        ("E004", {"SESSION_COOKIE_SECURE": False}),
        ("E004", {"SECURE_HSTS_SECONDS": 0}),
        ("E005", {"DATABASES": {"default": DATABASE | {"OPTIONS": {}}}}),
        ("E006", {"DATABASES": {"default": DATABASE | {"PASSWORD": "postgres"}}}),
        ("E008", {"HTTP_ALLOW_PRIVATE": ["intranet"]}),
        ("E014", {"METRICS_TOKEN": "x" * 19}),
        ("E009", {"HEARTBEAT_SECONDS": 29, "LEASE_SECONDS": 30}),
        ("E010", {"ENVIRONMENT": "prod"}),
        ("E011", {"LOG_FORMAT": "xml"}),
        ("E012", {"FAILURE_WINDOW_HOURS": 0}),
        ("E012", {"FAILURE_WINDOW_HOURS": 169}),
        ("E013", {"LLM_API_KEY": "k"}),
        ("E013", ASKED | {"LLM_URL": "example.com/v1"}),
        ("E013", ASKED | {"LLM_URL": "ftp://example.com"}),
        ("E013", ASKED | {"LLM_TIMEOUT_SECONDS": 46.0}),
        ("W001", {"DATABASE_URL": ""}),
        ("W003", {"STATIC_ROOT": "/nowhere"}),
    ],
)
def test_each_danger_has_its_id(production, code, change):
    assert production(**change) == [f"fencepost.{code}"]


@pytest.mark.parametrize("host", ["/var/run/postgresql", "localhost"])
def test_a_database_beside_us_needs_no_tls(production, host):
    assert production(DATABASES={"default": DATABASE | {"HOST": host, "OPTIONS": {}}}) == []


def test_a_model_that_is_named_with_its_key_passes(production):
    assert production(**ASKED) == []


def test_development_is_left_alone(settings):
    settings.SECRET_KEY, settings.DEBUG = settings.INSECURE_SECRET_KEY, True
    assert check_settings() == []


@pytest.mark.django_db
def test_an_old_server_is_named(monkeypatch):
    assert check_postgres(databases=["default"]) == []
    monkeypatch.setattr(connection.features, "minimum_database_version", (99,))
    assert [found.id for found in check_postgres(databases=["default"])] == ["fencepost.E007"]


def test_a_server_that_is_away_is_no_reason_to_refuse(monkeypatch):
    """A worker that is started in an outage waits for it."""

    def away():
        raise OperationalError("the database system is starting up")

    monkeypatch.setattr(connections["default"], "check_database_version_supported", away)
    assert [found.id for found in check_postgres(databases=["default"])] == ["fencepost.W002"]


@pytest.mark.parametrize("door", ["config.wsgi", "config.asgi"])
def test_no_server_starts_with_unsafe_settings(door):
    environment = os.environ | {"ENVIRONMENT": "production", "DEBUG": "on", "SECRET_KEY": "s" * 50}
    done = subprocess.run(
        [sys.executable, "-c", f"import {door}"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "fencepost.E003" in done.stderr
