"""POSTs that make something make it once per Idempotency-Key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.services import keys
from apps.errors import BadInput, Gone, NotFound

HEADER = "Idempotency-Key"
KEY_MAX = 255


@dataclass(frozen=True, slots=True)
class Made:
    """What a request made, and its answer."""

    ids: Sequence[UUID]
    body: Any
    status: int = 201


def once(
    request: Request,
    *,
    scope_id: UUID,
    make: Callable[[], Made],
    show: Callable[[list[UUID]], Any],
    ids: list[UUID] | None = None,
) -> Response:
    """Make, unless a request with the same key did; then `show` tells what that one made.

    `show` raises NotFound for what is there no more. `ids` are what `make` will have made, if that is known.
    """
    key = _key(request)
    if key is None:
        made = make()
        return Response(made.body, status=made.status)
    endpoint = request.resolver_match.view_name if request.resolver_match else ""
    with transaction.atomic():
        first = keys.take(scope_id=scope_id, endpoint=endpoint, key=key, body=request.data, ids=ids)
        if first is None:
            made = make()
            if list(made.ids) != ids:
                keys.note(scope_id=scope_id, endpoint=endpoint, key=key, ids=made.ids)
            return Response(made.body, status=made.status)
    try:
        return Response(show(first), headers={"Idempotency-Replayed": "true"})
    except NotFound as error:
        raise Gone from error


def _key(request: Request) -> str | None:
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not key:  # some servers hand on nothing at all of what is not ASCII
        raise BadInput.at(HEADER, f"This is empty, or not ASCII: give 1 to {KEY_MAX} printable ASCII characters.")
    if not (key.isascii() and key.isprintable()):
        raise BadInput.at(HEADER, "Only printable ASCII characters can stand in it.")
    if len(key) > KEY_MAX:
        raise BadInput.at(HEADER, f"At most {KEY_MAX} characters; this has {len(key)}.")
    return key
