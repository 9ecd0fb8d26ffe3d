"""Everything that can go wrong under /api, as application/problem+json (RFC 9457)."""

import sys
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, Error, IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template import loader
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from apps.accounts.serializers.fields import faults_of
from apps.errors import (
    BadInput,
    Conflict,
    Forbidden,
    NotAuthenticated,
    NotFound,
    Refusal,
    TooLarge,
    TooManyRequests,
    Unavailable,
)
from apps.sql import Trouble, trouble

CONTENT_TYPE = "application/problem+json"
log = structlog.get_logger(__name__)


class Broken(Refusal):
    """Something is wrong on this side; the request's id finds it in the log."""

    code, status = "internal_error", 500


def translate(error: Exception, context: dict[str, Any]) -> Response:
    """Answer an exception of an endpoint (REST_FRAMEWORK's EXCEPTION_HANDLER)."""
    refusal = refusal_of(error)
    request = context["request"]
    set_rollback()
    if isinstance(refusal, Broken):
        log.error("request failed", exc_info=error, path=request.path)
    return Response(
        problem(refusal, request),
        status=refusal.status,
        headers=_headers(refusal),
        content_type=CONTENT_TYPE,
    )


def problem(refusal: Refusal, request: HttpRequest) -> dict[str, Any]:
    """The body that tells of a refusal."""
    body: dict[str, Any] = {
        "type": f"urn:fencepost:problem:{refusal.code}",
        "title": (type(refusal).__doc__ or "").partition("\n")[0],
        "status": refusal.status,
        "detail": str(refusal),
        "code": refusal.code,
        "request_id": request.META.get("HTTP_X_REQUEST_ID", ""),
    }
    if refusal.errors:
        body["errors"] = [{"pointer": fault.pointer, "detail": fault.detail} for fault in refusal.errors]
    return {**refusal.extra, **body}


def refusal_of(error: BaseException | None) -> Refusal:
    """Find the refusal that says what an exception means to a caller."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    if isinstance(error, Error):
        return _of_database(error)
    for kind, refusal in (
        (Http404, NotFound),
        (PermissionDenied, Forbidden),
        (RequestDataTooBig, TooLarge),
        (SuspiciousOperation, BadInput),
    ):
        if isinstance(error, kind):
            return refusal()
    return Broken()


def _of_framework(error: exceptions.APIException) -> Refusal:
    if isinstance(error, exceptions.ValidationError):
        faults = faults_of(error.detail)
        return BadInput(f"{faults[0].pointer}: {faults[0].detail}" if faults else "", errors=faults)
    for kind, refusal in (
        (exceptions.NotAuthenticated, NotAuthenticated),
        (exceptions.AuthenticationFailed, NotAuthenticated),
        (exceptions.PermissionDenied, Forbidden),
        (exceptions.Throttled, TooManyRequests),
    ):
        if isinstance(error, kind):
            return refusal(str(error.detail))
    return _other(error)


def _other(error: exceptions.APIException) -> Refusal:
    """405, 406, 415: DRF's own, said our way."""
    refusal = Refusal(str(error.detail))
    refusal.status, refusal.code = error.status_code, error.default_code
    return refusal


def _of_database(error: Error) -> Refusal:
    if trouble(error) != Trouble.FATAL:
        return Unavailable(retry_after=1)
    if isinstance(error, DataError):
        return BadInput("A value cannot be stored.")
    if isinstance(error, IntegrityError) and getattr(error.__cause__, "sqlstate", "") in ("23503", "23505"):
        return Conflict("Something this refers to has just changed; try again.")
    return Broken()


def _headers(refusal: Refusal) -> dict[str, str]:
    headers: dict[str, str] = dict(getattr(refusal, "headers", {}))
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="fencepost"'
    return headers


@csrf_exempt  # there is nothing to protect, and a program that holds a token must be told so
def nothing(request: HttpRequest) -> HttpResponseBase:
    """Answer every path below /api/ that no endpoint stands at, in development too."""
    return respond(request, NotFound(f"Nothing stands at {request.path}."))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return _plain(request, exception) or defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return _plain(request, exception) or defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return _plain(request, exception) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    error = sys.exc_info()[1]
    return _plain(request, error) or _away(error) or defaults.server_error(request)


def _away(error: BaseException | None) -> HttpResponseBase | None:
    """A page while the database does not answer: nothing broke, and a moment later there is one."""
    refusal = refusal_of(error)
    if not isinstance(refusal, Unavailable):
        return None
    return HttpResponse(loader.render_to_string("503.html"), status=refusal.status, headers=_headers(refusal))


def _plain(request: HttpRequest, error: BaseException | None) -> HttpResponseBase | None:
    """What Django itself refuses, outside any endpoint."""
    return respond(request, refusal_of(error)) if request.path.startswith("/api/") else None


def respond(request: HttpRequest, refusal: Refusal) -> HttpResponseBase:
    body = problem(refusal, request)
    return JsonResponse(body, status=refusal.status, headers=_headers(refusal), content_type=CONTENT_TYPE)
