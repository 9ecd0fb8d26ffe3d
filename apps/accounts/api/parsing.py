"""JSON as PostgreSQL and Python both can hold it; the rest is refused with a pointer to where it stands."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from apps.errors import BadInput, Refusal, TooLarge, pointed

LONGEST_NUMBER = 4300  # digits: what Python turns into an int
AROUND = 3  # levels a batch puts around a payload
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class LengthRequired(Refusal):
    """Say how long the body is: send a Content-Length."""

    code, status = "length_required", 411


@dataclass(frozen=True, slots=True)
class _Bad:
    """Stands in the parsed tree where something cannot be kept, until the walk has found its place."""

    why: str


class StrictJSON(BaseParser):
    """Parses application/json, in UTF-8, of at most BODY_MAX_BYTES."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        raw = stream.read(settings.BODY_MAX_BYTES + 1)
        if len(raw) > settings.BODY_MAX_BYTES:
            raise TooLarge(f"The body is larger than {settings.BODY_MAX_BYTES} bytes.")
        return parse(raw)


def parse(raw: bytes) -> dict[str, Any]:
    """Parse a body, which must be one object. Raises BadInput."""
    try:
        tree = json.loads(
            raw.decode(),
            parse_constant=lambda name: _Bad(f"{name} is not JSON."),
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise BadInput.at("#", f"The body is not UTF-8: byte {error.start} cannot be read.") from None
    except json.JSONDecodeError as error:
        raise BadInput.at("#", f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise BadInput.at("#", _too_deep()) from None
    if not isinstance(tree, dict | _Bad):
        raise BadInput.at("#", "The body must be an object.")
    for pointer, why in _wrongs(tree, "#", 1):
        raise BadInput.at(pointer, why)
    return tree  # type: ignore[return-value]  # a _Bad tree has just been refused


def _float(text: str) -> float | _Bad:
    number = float(text)
    return number if math.isfinite(number) else _Bad("This number is out of range.")


def _int(text: str) -> int | _Bad:
    return int(text) if len(text) <= LONGEST_NUMBER else _Bad("This number has too many digits.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Bad:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    return _Bad(f"The key {pointed(twice)!r} stands here twice.")


def _wrongs(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, str]]:
    """Walk the tree for what cannot be kept."""
    if isinstance(value, _Bad):
        yield pointer, value.why
    elif isinstance(value, str) and not _is_clean(value):
        yield pointer, "NUL and lone surrogates cannot be stored."
    elif isinstance(value, dict | list):
        if depth > _deepest():
            yield pointer, _too_deep()
            return
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            below = f"{pointer}/{pointed(str(key))}"
            if isinstance(key, str) and not _is_clean(key):
                yield below, "NUL and lone surrogates cannot be stored, in keys either."
            yield from _wrongs(inner, below, depth + 1)


def _is_clean(text: str) -> bool:
    return not _UNSTORABLE.search(text)


def _deepest() -> int:
    """A payload may nest JSON_MAX_DEPTH; in a batch it stands in an object in a list in an object."""
    return settings.JSON_MAX_DEPTH + AROUND


def _too_deep() -> str:
    return f"Nested deeper than {settings.JSON_MAX_DEPTH} in a payload, {_deepest()} in all."
