"""Where remote workers knock, below /api/v1/."""

from apps.runtime.api import remote

urlpatterns = [
    remote.Sessions.at("worker/sessions"),
    remote.OneSession.at("worker/sessions/<uuid:session>"),
    remote.Claims.at("worker/sessions/<uuid:session>/claim"),
    remote.Heartbeats.at("worker/sessions/<uuid:session>/heartbeat"),
    remote.Reports.at("worker/sessions/<uuid:session>/report"),
]
