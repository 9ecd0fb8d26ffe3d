"""Refuses settings that are comfortable in development and dangerous in production (ENVIRONMENT=production).

Their ids are stable: fencepost.E001 to E006, E008 and E014 in production only, the others everywhere.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections
from django.db.utils import NotSupportedError, OperationalError

TAG = "fencepost"  # what config/wsgi.py and config/asgi.py run before they serve
SAFE_SSLMODES = {"require", "verify-ca", "verify-full"}
SECRET_KEY_MIN, SECRET_KEY_SIGNS = 50, 5  # characters, and different ones among them
METRICS_TOKEN_MIN = 20  # characters
LLM_SECONDS_MAX = 45  # longer would hold up a scheduler that is told to stop
GUESSABLE = {"", "admin", "changeme", "fencepost", "password", "postgres", "secret"}


def _secret_key_is_known() -> bool:
    return any(
        key == settings.INSECURE_SECRET_KEY
        or len(key) < SECRET_KEY_MIN
        or len(set(key)) < SECRET_KEY_SIGNS
        or key.startswith("django-insecure-")
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )


def _any_host_is_allowed() -> bool:
    everybody = {"*", ".", "http://*", "https://*"}
    return not settings.ALLOWED_HOSTS or not everybody.isdisjoint([*settings.ALLOWED_HOSTS, *settings.ALLOWED_ORIGINS])


def _cookies_travel_in_the_clear() -> bool:
    return not (
        settings.SESSION_COOKIE_SECURE
        and settings.CSRF_COOKIE_SECURE
        and settings.SECURE_SSL_REDIRECT
        and settings.SECURE_HSTS_SECONDS
    )


def _database_is_elsewhere() -> bool:
    host = settings.DATABASES["default"]["HOST"]
    return not host.startswith("/") and host not in {"localhost", "127.0.0.1", "::1"}


def _database_is_read_on_the_wire() -> bool:
    sslmode = settings.DATABASES["default"]["OPTIONS"].get("sslmode", "prefer")
    return _database_is_elsewhere() and sslmode not in SAFE_SSLMODES


def _database_password_is_guessable() -> bool:
    database = settings.DATABASES["default"]
    return not database["HOST"].startswith("/") and database["PASSWORD"] in GUESSABLE


def _metrics_token_is_guessable() -> bool:
    return 0 < len(settings.METRICS_TOKEN) < METRICS_TOKEN_MIN


def _heartbeat_is_too_slow() -> bool:
    return not 0 < settings.HEARTBEAT_SECONDS <= settings.LEASE_SECONDS / 2


def _model_cannot_be_asked() -> bool:
    """Only where one is set up."""
    address = urlsplit(settings.LLM_URL)
    is_whole = settings.LLM_MODEL and address.scheme in {"http", "https"} and address.hostname
    return bool(settings.LLM_API_KEY) and not (is_whole and 0 < settings.LLM_TIMEOUT_SECONDS <= LLM_SECONDS_MAX)


IN_PRODUCTION: dict[str, tuple[Callable[[], bool], str]] = {
    "E001": (
        _secret_key_is_known,
        "SECRET_KEY, or one of SECRET_KEY_FALLBACKS, is public, shorter than 50 characters or of few different ones.",
    ),
    "E002": (
        _any_host_is_allowed,
        "ALLOWED_HOSTS is empty, or it or ALLOWED_ORIGINS has *, which also switches off the Origin check.",
    ),
    "E003": (lambda: settings.DEBUG, "DEBUG is on: errors would show settings and data to anybody."),
    "E004": (_cookies_travel_in_the_clear, "HTTPS is off: sessions and tokens would travel in the clear."),
    "E005": (_database_is_read_on_the_wire, "DATABASE_URL has no sslmode=require, verify-ca or verify-full."),
    "E006": (_database_password_is_guessable, "DATABASE_URL has no password, or one that anybody would try first."),
    "E008": (lambda: bool(settings.HTTP_ALLOW_PRIVATE), "HTTP_ALLOW_PRIVATE lets tenants reach private hosts."),
    "E014": (_metrics_token_is_guessable, "METRICS_TOKEN is shorter than 20 characters."),
}
EVERYWHERE: dict[str, tuple[Callable[[], bool], str]] = {
    "E009": (_heartbeat_is_too_slow, "HEARTBEAT_SECONDS must be at most half of LEASE_SECONDS."),
    "E010": (
        lambda: settings.ENVIRONMENT not in {"development", "production"},
        "ENVIRONMENT is neither development nor production.",
    ),
    "E011": (lambda: settings.LOG_FORMAT not in {"console", "json"}, "LOG_FORMAT is neither console nor json."),
    "E012": (lambda: not 1 <= settings.FAILURE_WINDOW_HOURS <= 168, "FAILURE_WINDOW_HOURS is not from 1 to 168."),
    "E013": (
        _model_cannot_be_asked,
        "LLM_API_KEY is set, but LLM_MODEL is not, or LLM_URL or LLM_TIMEOUT_SECONDS makes no sense.",
    ),
}


@register(TAG)
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """Say what is unsafe or cannot work in the settings as they are."""
    rules = EVERYWHERE | (IN_PRODUCTION if settings.PRODUCTION else {})
    found: list[CheckMessage] = [
        Error(message, hint="See docs/settings.md.", id=f"fencepost.{code}")
        for code, (is_broken, message) in rules.items()
        if is_broken()
    ]
    if settings.PRODUCTION and not settings.DATABASE_URL:
        found.append(Warning("The built-in PostgreSQL serves: it has no backups.", id="fencepost.W001"))
    if not settings.DEBUG and not (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        found.append(Warning("No page can be shown: run collectstatic before the web process.", id="fencepost.W003"))
    return found


@register(Tags.database)
def check_postgres(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Say so calmly when the server is too old; Django itself refuses to talk to it.

    One that does not answer is no reason to refuse: a worker that starts in an outage waits for it.
    """
    try:
        for alias in databases or []:
            connections[alias].check_database_version_supported()
    except NotSupportedError as error:
        return [Error(str(error), hint="Fencepost needs PostgreSQL 15 or newer.", id="fencepost.E007")]
    except OperationalError as error:
        return [Warning(f"The database does not answer: {str(error).strip()}", id="fencepost.W002")]
    return []
