"""Addresses of sockets."""

from django.urls import path, re_path

from apps.events.consumers import EventStream, Nowhere

websocket_urlpatterns = [
    path("api/v1/projects/<uuid:project_id>/events/stream", EventStream.as_asgi()),
    re_path("", Nowhere.as_asgi()),
]
