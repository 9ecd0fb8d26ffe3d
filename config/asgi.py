"""Sockets in production (uvicorn config.asgi:application), everything in development."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application

from config import embedded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

http = get_asgi_application()
embedded.ensure()

try:  # after the line above: consumers import models
    from apps.events.urls import websocket_urlpatterns
except ImportError:
    websocket_urlpatterns = []

origins = settings.ALLOWED_ORIGINS or settings.ALLOWED_HOSTS
sockets = OriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)), origins)
application = ProtocolTypeRouter({"http": http, "websocket": sockets})
