"""Sockets and claims that wait in production (uvicorn config.asgi:application), everything in development."""

import os
from importlib import import_module
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management.base import BaseCommand
from django.http.request import split_domain_port, validate_host

from config import embedded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

http = get_asgi_application()
BaseCommand().check(tags=["fencepost"])  # servers run no checks by themselves, and unsafe settings must not serve
embedded.ensure()


routes = URLRouter(import_module("apps.events.urls").websocket_urlpatterns)


async def sockets(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """A token says who calls; a cookie comes along on its own, so that pages of other sites must be kept out."""
    has_token = any(name.startswith("fencepost.token.") for name in scope.get("subprotocols", []))
    await (routes if has_token else OriginValidator(routes, _origins(scope)))(scope, receive, send)


def _origins(scope: dict[str, Any]) -> list[str]:
    """As for forms: the very site that is asked, its scheme and port included, and those that are allowed by name."""
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
    domain, _ = split_domain_port(host)
    schemes = ("https",) if settings.HTTPS else ("https", "http")
    is_ours = domain and validate_host(domain, settings.ALLOWED_HOSTS)
    return [*(f"{scheme}://{host}" for scheme in schemes if is_ours), *settings.ALLOWED_ORIGINS]


# After Django is set up.
door = import_module("apps.runtime.consumers").door
bounded = import_module("config.bodies").bounded
application = ProtocolTypeRouter({"http": bounded(door(http)), "websocket": sockets})
