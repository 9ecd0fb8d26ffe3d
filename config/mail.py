"""Turns the parts of an EMAIL_URL into options of a Django mailer."""

from collections.abc import Mapping
from typing import Any

_NAMES = {
    "EMAIL_HOST": "host",
    "EMAIL_PORT": "port",
    "EMAIL_HOST_USER": "username",
    "EMAIL_HOST_PASSWORD": "password",
    "EMAIL_USE_TLS": "use_tls",
    "EMAIL_USE_SSL": "use_ssl",
    "EMAIL_TIMEOUT": "timeout",
}


def options(url: Mapping[str, Any]) -> dict[str, Any]:
    """Only SMTP knows these options; every other backend refuses them."""
    if not url["EMAIL_BACKEND"].endswith("smtp.EmailBackend"):
        return {}
    return {_NAMES[key]: value for key, value in url.items() if key in _NAMES and value}
