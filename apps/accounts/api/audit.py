"""Who did what in an organization, to be read and to be taken away."""

import csv
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.selectors import audit, reach
from apps.accounts.serializers import audit as bodies
from apps.accounts.serializers.accounts import page_of
from apps.audit.models import Entry

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
ENTRY = {
    "id": ID,
    "at": "2027-03-14T07:00:00Z",
    "actor": "ada@example.com",
    "user_id": ID,
    "token_id": None,
    "action": "queue.pause",
    "target_type": "queue",
    "target_id": ID,
    "before": {"paused_at": None},
    "after": {"paused_at": "2027-03-14T07:00:00Z"},
    "address": "192.0.2.7",
    "request_id": ID,
}
KINDS = {"csv": "text/csv", "jsonl": "application/jsonl"}
# What a cell begins with that a spreadsheet would run; some take the full-width forms too.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class Audit(Endpoint):
    route = "org-audit"

    @tells(
        "Read the audit trail",
        answer=page_of(bodies.EntryAnswer),
        example={"results": [ENTRY], "next": None, "previous": None},
        query=bodies.AuditQuery,
        paged=True,
    )
    def get(self, request: Request, org: UUID) -> Response:
        """Every change that was made in the organization, whoever made it and from where; nothing in it is ever changed."""
        self.reach(reach.organizations(self.caller), pk=org)
        pager = Pager(request, within=org)
        found = pager.rows(audit.entries(org, **self.asked))
        return Response(pager.answer(found, audit.facts, lambda row: row.pk))


class Export(Endpoint):
    route = "org-audit-export"

    @tells(
        "Take the audit trail away",
        answer=OpenApiTypes.STR,
        example="id,at,actor,…",
        query=bodies.ExportQuery,
        streams=tuple(KINDS.values()),
    )
    def get(self, request: Request, org: UUID) -> StreamingHttpResponse:
        """All that fits the filter, newest first, as CSV or a JSON object a line. A CSV cell that a spreadsheet would take
        for a formula begins with an apostrophe."""
        self.reach(reach.organizations(self.caller), pk=org)
        form = self.asked.pop("format", "csv")
        rows = audit.walk(audit.entries(org, **self.asked))
        lines = _as_csv(rows) if form == "csv" else _as_lines(rows)
        response = StreamingHttpResponse(lines, content_type=f"{KINDS[form]}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="audit.{form}"'
        return response


class _Line:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def _as_csv(rows: Iterator[Entry]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(ENTRY)
    for row in rows:
        yield writer.writerow([_cell(value) for value in audit.facts(row).values()])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(FORMULAS) else text


def _as_lines(rows: Iterator[Entry]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(audit.facts(row), ensure_ascii=False) + "\n"
