"""The files that jobs saved, whole or in part."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.http import FileResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.accounts.models import Role
from apps.errors import Forbidden, NotFound, Refusal
from apps.jobs.selectors import detail, find, reachable_jobs

CHUNK = 65_536
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
# What a browser may show in place; all else is a download, so that no file can act as a page of ours.
SHOWN = {
    ".avif": "image/avif",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
}


class RangeNotSatisfiable(Refusal):
    """The range lies outside the file."""

    code, status = "range_not_satisfiable", 416

    def __init__(self, size: int) -> None:
        super().__init__()
        self.headers = {"Content-Range": f"bytes */{size}"}


class File(Endpoint):
    route = "job-file"

    @tells("Read a file a job saved", answer=OpenApiTypes.BINARY, kind="*/*", refusals=(416,))
    def get(self, request: Request, job: UUID, name: str) -> HttpResponseBase:
        """Honours a Range of bytes: 206 with a part, or 416 outside the file. The type is the file's."""
        found = self.allow(find(job, among=reachable_jobs(self.caller)))
        if self.role.level < Role(found.queue.hide_payloads_below or found.queue.project.hide_payloads_below).level:
            raise Forbidden("Your role does not see what jobs of this queue made.")
        # Compared with the names there are, never joined to a path: nothing a caller writes can lead elsewhere.
        path = next((path for path in detail.files(job) if path.name == name), None)
        if path is None:
            raise NotFound
        return _safe(_answer(path, request.headers.get("Range", "")), path)


def _answer(path: Path, asked: str) -> HttpResponseBase:
    size = path.stat().st_size
    given = _RANGE.fullmatch(asked.strip())
    if given is None or _is_nonsense(*given.groups()):  # several ranges, other units: the whole, says RFC 9110
        return FileResponse(path.open("rb"))
    first, last = _bounds(*given.groups(), size=size)
    if first > last:
        raise RangeNotSatisfiable(size)
    part = StreamingHttpResponse(_read(path, first, last), status=206)
    part["Content-Range"] = f"bytes {first}-{last}/{size}"
    part["Content-Length"] = str(last - first + 1)
    return part


def _is_nonsense(first: str, last: str) -> bool:
    return int(last) < int(first) if first and last else not (first or last)


def _bounds(first: str, last: str, *, size: int) -> tuple[int, int]:
    """Both ends of a range, inclusive; "-500" are the last 500 bytes."""
    if not first:
        return max(0, size - int(last)), size - 1 if int(last) else -1
    return int(first), min(int(last), size - 1) if last else size - 1


def _read(path: Path, first: int, last: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        left = last - first + 1
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk


def _safe(response: HttpResponseBase, path: Path) -> HttpResponseBase:
    kind = SHOWN.get(path.suffix.lower())
    headers: dict[str, Any] = {
        "Accept-Ranges": "bytes",
        "Content-Security-Policy": "sandbox",
        "Content-Type": kind or "application/octet-stream",
        "Content-Disposition": content_disposition_header(kind is None, path.name),
        "X-Content-Type-Options": "nosniff",
    }
    for header, value in headers.items():
        response[header] = value
    return response
