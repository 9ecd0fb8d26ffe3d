"""Sockets in production (uvicorn config.asgi:application), everything in development."""

import os
from importlib import import_module
from importlib.util import find_spec

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management.base import BaseCommand
from django.urls import URLPattern

from config import embedded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

http = get_asgi_application()
BaseCommand().check(tags=["fencepost"])  # servers run no checks by themselves, and unsafe settings must not serve
embedded.ensure()


def _routes() -> list[URLPattern]:
    """What the app of events offers; imported after Django is set up, for consumers import models."""
    if find_spec("apps.events.urls") is None:
        return []
    return list(getattr(import_module("apps.events.urls"), "websocket_urlpatterns", []))


origins = [*settings.ALLOWED_HOSTS, *settings.ALLOWED_ORIGINS]
sockets = OriginValidator(AuthMiddlewareStack(URLRouter(_routes())), origins)
application = ProtocolTypeRouter({"http": http, "websocket": sockets})
