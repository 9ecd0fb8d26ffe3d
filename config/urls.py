"""Every door of the web side; each app brings its own."""

from django.contrib import admin
from django.urls import include, path, re_path

from config import api

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include("apps.accounts.urls")),
    path("api/v1/", include("apps.queues.urls")),
    path("api/v1/", include("apps.jobs.urls")),
    path("api/v1/", include("apps.runtime.urls")),
    path("api/v1/", include("apps.events.urls")),
    re_path("^api/", api.nothing),
    path("", include("apps.dashboard.urls")),
]

handler400, handler403, handler404, handler500 = api.bad_request, api.forbidden, api.not_found, api.server_error
