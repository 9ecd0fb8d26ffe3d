"""Pages by key: newest first, each with the addresses of the ones beside it.

A cursor is signed together with what it pages through (endpoint, tenant, filter), so that it can be
neither altered nor taken elsewhere.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db.models import Model, QuerySet
from rest_framework.request import Request

from apps.errors import BadInput

LIMIT, LIMIT_MAX = 50, 200
OLDER, NEWER = "o", "n"


@dataclass(frozen=True, slots=True)
class Page:
    """What to read: `limit` rows older than one id, or newer than one; neither: the newest."""

    limit: int
    older_than: UUID | None = None
    newer_than: UUID | None = None


class Pager:
    """The cursors of one list of one tenant, under one filter."""

    def __init__(self, request: Request, *, within: object) -> None:
        self.request = request
        filters = sorted((k, v) for k, v in request.query_params.items() if k not in ("cursor", "limit"))
        route = request.resolver_match.view_name if request.resolver_match else ""
        self.signer = Signer(salt=json.dumps(["cursor", route, str(within), filters]))
        self.page = self._page()

    def rows[M: Model](self, rows: QuerySet[M], key: str = "id") -> list[M]:
        """Read a page of rows by their key, and one more that tells whether there are others behind."""
        page = self.page
        if page.newer_than:
            return list(rows.filter(**{f"{key}__gt": page.newer_than}).order_by(key)[: page.limit + 1])
        older = rows.filter(**{f"{key}__lt": page.older_than}) if page.older_than else rows
        return list(older.order_by(f"-{key}")[: page.limit + 1])

    def answer[T](self, found: Sequence[T], show: Callable[[T], Any], key: Callable[[T], UUID]) -> dict[str, Any]:
        """The page as it goes out; `found` are up to limit + 1 rows, in the order they were read."""
        page, more = self.page, len(found) > self.page.limit
        rows = list(found[: page.limit])
        if page.newer_than:
            rows.reverse()
        older = more if not page.newer_than else bool(rows)
        newer = more if page.newer_than else bool(page.older_than and rows)
        return {
            "results": [show(row) for row in rows],
            "next": self._address(OLDER, key(rows[-1])) if older else None,
            "previous": self._address(NEWER, key(rows[0])) if newer else None,
        }

    def _page(self) -> Page:
        limit, cursor = self._limit(), self.request.query_params.get("cursor")
        if cursor is None:
            return Page(limit)
        try:
            text = self.signer.unsign(base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii"))
            way, key = text[0], UUID(text[1:])
        except (BadSignature, ValueError):
            raise BadInput.at("?cursor", "This cursor was not made for this list and filter.") from None
        return Page(limit, older_than=key) if way == OLDER else Page(limit, newer_than=key)

    def _limit(self) -> int:
        given = self.request.query_params.get("limit", str(LIMIT))
        if not (given.isascii() and given.isdigit() and len(given) < 4 and 1 <= int(given) <= LIMIT_MAX):
            raise BadInput.at("?limit", f"This must be a whole number between 1 and {LIMIT_MAX}.")
        return int(given)

    def _address(self, way: str, key: UUID) -> str:
        cursor = base64.urlsafe_b64encode(self.signer.sign(f"{way}{key.hex}").encode()).decode()
        query = self.request.query_params.copy()
        query["cursor"] = cursor
        return self.request.build_absolute_uri(f"{self.request.path}?{query.urlencode()}")
