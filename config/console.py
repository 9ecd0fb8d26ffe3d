"""The admin's site: its own policy for browsers, and the one door that asks for a second factor."""

from functools import wraps
from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import redirect, render
from django.utils.csp import CSP
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csp import csp_override
from unfold.sites import UnfoldAdminSite

# Unfold's Alpine evaluates attributes and sets styles, its popups are frames; nothing outside /admin/ is allowed that.
POLICY: dict[str, Any] = {
    **settings.SECURE_CSP,
    "script-src": [CSP.SELF, CSP.UNSAFE_EVAL],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "frame-ancestors": [CSP.SELF],
}


class Console(UnfoldAdminSite):
    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Take only pages of ours: what packages bring along would change rows and write nothing down."""
        if admin_class is not None and admin_class.__module__.startswith("apps."):
            super().register(model_or_iterable, admin_class, **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001 - as Django declares it
        ours = super().admin_view(_with_two_factors(view), cacheable)
        return xframe_options_sameorigin(csp_override(POLICY)(ours))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Through the same door as everybody, second factor and counted failures included."""
        if request.user.is_authenticated and not request.user.is_staff:
            return render(request, "admin/no_staff.html", {"person": request.user}, status=403)
        return secure_admin_login(super().login)(request, extra_context)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Begin with the queues, for those who may see them."""
        if request.user.has_perm("queues.view_queue"):
            return redirect("admin:queues_queue_changelist")
        return super().index(request, extra_context)


def _with_two_factors(view: Any) -> Any:
    """Send staff without a second factor to where they get one, if the settings demand it."""

    @wraps(view)
    def demanding(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if settings.STAFF_TWO_FACTOR and request.user.is_authenticated and not is_mfa_enabled(request.user):
            messages.warning(request, "The admin asks for a second factor: set one up first.")
            return redirect("mfa_index")
        return view(request, *args, **kwargs)

    return demanding


def environment(request: HttpRequest) -> list[str]:
    """The badge at the top: which installation this is."""
    return [settings.ENVIRONMENT, "danger" if settings.PRODUCTION else "info"]
