"""Where the event log is read: pages below /api/v1/, and sockets."""

from django.urls import path, re_path

from apps.events import api
from apps.events.consumers import EventStream, Nowhere

urlpatterns = [
    api.Events.at("projects/<uuid:project>/events"),
    api.Sysinfo.at("sysinfo"),
]

websocket_urlpatterns = [
    path("api/v1/projects/<uuid:project_id>/events/stream", EventStream.as_asgi(), name="project-events-stream"),
    re_path("", Nowhere.as_asgi()),
]
