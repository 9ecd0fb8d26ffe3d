"""Sockets and claims that wait in production (uvicorn config.asgi:application), everything in development."""

import os
from importlib import import_module
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management.base import BaseCommand

from config import embedded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

http = get_asgi_application()
BaseCommand().check(tags=["fencepost"])  # servers run no checks by themselves, and unsafe settings must not serve
embedded.ensure()


# A token says who calls; a cookie comes along on its own, so that pages of other sites must be kept out.
routes = URLRouter(import_module("apps.events.urls").websocket_urlpatterns)
from_pages = OriginValidator(routes, [*settings.ALLOWED_HOSTS, *settings.ALLOWED_ORIGINS])


async def sockets(scope: dict[str, Any], receive: Any, send: Any) -> None:
    has_token = any(name.startswith("fencepost.token.") for name in scope.get("subprotocols", []))
    await (routes if has_token else from_pages)(scope, receive, send)


door = import_module("apps.runtime.consumers").door  # after Django is set up
application = ProtocolTypeRouter({"http": door(http), "websocket": sockets})
