"""The door: what a submitted job may say. Everything wrong is named, nothing is cut."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.dateparse import parse_datetime

from apps.errors import BadInput, Fault, UnknownField, pointed
from apps.jobs.states import OnParentFailure, Placement
from apps.queues.states import TIMEOUT_MAX_MS

NAME_MAX, KEY_MAX = 128, 255
SMALL = 1000
LABELS_MAX = 32
LONGEST_NUMBER = 4096  # bits
# The last moment a run_at may name; the database refuses later ones too.
LATEST = datetime(9998, 12, 31, tzinfo=UTC)
LONGEST_DELAY = 100 * 366 * 86_400

KEPT: Any = object()  # stands for a payload that is to stay as it is: None is one, too

# Seen in a JSON text: a NUL, a lone surrogate, a number of very many digits.
_SUSPECT = re.compile(r"\\u0000|[\ud800-\udfff]|[0-9]{1000}")
# What PostgreSQL's text and jsonb cannot hold although Python's str can.
_BAD_TEXT = re.compile("[\x00\ud800-\udfff]")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class _Wrong(ValueError):
    """One field is wrong; the text says how, and `within` where in it: "/colour"."""

    within = ""


def check(fields: Mapping[str, Any], *, pointer: str = "#") -> dict[str, Any]:
    """Check the fields of one job and answer them in the engine's terms; absent ones stay absent.

    Raises UnknownField, or BadInput naming every faulty field as `pointer`/<field>.
    """
    checked, faults = look(fields, _RULES, required="type", pointer=pointer)
    if "run_at" in checked and "delay_seconds" in checked:
        faults.append(Fault(f"{pointer}/delay_seconds", "Give run_at or delay_seconds, not both."))
    if "required_worker" in checked and checked.get("placement") == Placement.ANY:
        faults.append(Fault(f"{pointer}/placement", "A job that requires a worker does not run on any."))
    refuse(faults)
    return checked


def look(
    fields: Mapping[str, Any], rules: Mapping[str, Callable[[Any], Any]], *, required: str = "", pointer: str = "#"
) -> tuple[dict[str, Any], list[Fault]]:
    """Check fields by their rules: those that are fine, and what is wrong with the others. Raises UnknownField."""
    unknown = [name for name in fields if name not in rules]
    if unknown:
        faults = [Fault(f"{pointer}/{pointed(name)}", "There is no such field.") for name in unknown]
        raise UnknownField(f"There is no field {unknown[0]!r}.", errors=faults)
    checked: dict[str, Any] = {}
    missing = required and fields.get(required) is None
    faults = [Fault(f"{pointer}/{required}", "This must be given.")] if missing else []
    for name, value in fields.items():
        if value is None and name != "payload":
            continue
        try:
            checked[name] = rules[name](value)
        except _Wrong as wrong:
            faults.append(Fault(f"{pointer}/{name}{wrong.within}", str(wrong)))
    return checked, faults


def refuse(faults: list[Fault]) -> None:
    """Raise BadInput if anything is wrong."""
    if faults:
        raise BadInput(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)


def check_field(name: str, value: Any) -> Any:
    """Check one field of a job alone; raises BadInput at #/<name>."""
    try:
        return _RULES[name](value)
    except _Wrong as wrong:
        raise BadInput.at(f"#/{name}{wrong.within}", str(wrong)) from None


def as_json(value: Any, *, what: str = "payload") -> str:
    """Write a value as JSON that PostgreSQL can keep. Raises ValueError saying what is wrong."""
    try:
        text = _encode(value)
    except RecursionError:
        raise _Wrong(f"Nested deeper than {settings.JSON_MAX_DEPTH}.") from None
    except (TypeError, ValueError) as error:
        _walk(value, 1)  # says it better, where it knows
        raise _Wrong(f"This {what} is not JSON: {error}") from None
    if not _is_plain(value, text):
        _walk(value, 1)
    size = len(text) if text.isascii() else len(text.encode())
    if size > settings.PAYLOAD_MAX_BYTES:
        raise _Wrong(f"This {what} has {size} bytes; the limit is {settings.PAYLOAD_MAX_BYTES}.")
    return text


def _is_plain(value: Any, text: str) -> bool:
    """True for a flat object with nothing to suspect in it, as its text shows: most payloads need no walk."""
    return (
        type(value) is dict
        and text.count("{") == 1
        and "[" not in text
        and not _SUSPECT.search(text)
        and all(type(key) is str for key in value)
    )


def _walk(value: Any, depth: int) -> None:
    if depth > settings.JSON_MAX_DEPTH:
        raise _Wrong(f"Nested deeper than {settings.JSON_MAX_DEPTH}.")
    for inner in _inside(value):
        _walk(inner, depth + 1)


def _inside(value: Any) -> Iterable[Any]:
    """What a value holds, its keys and leaves checked on the way."""
    if isinstance(value, list | tuple):
        return value
    if not isinstance(value, dict):
        _leaf(value)
        return ()
    for key in value:
        if not isinstance(key, str):
            raise _Wrong("Keys must be texts.")
        _clean(key)
    return value.values()


def _leaf(value: Any) -> None:
    if isinstance(value, str):
        _clean(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _Wrong("NaN and Infinity are not JSON.")
    elif isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
        raise _Wrong("A number has too many digits.")


def _clean(text: str) -> None:
    if _BAD_TEXT.search(text):
        raise _Wrong("NUL and lone surrogates cannot be stored.")


def _text(longest: int) -> Callable[[Any], str]:
    def rule(value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise _Wrong("This must be a text that is not empty.")
        _clean(value)
        if len(value) > longest:
            raise _Wrong(f"At most {longest} characters; this has {len(value)}.")
        return value

    return rule


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def rule(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _Wrong("This must be a whole number.")
        if not least <= value <= most:
            raise _Wrong(f"This must be between {least} and {most}.")
        return value

    return rule


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("This must be true or false.")
    return value


def _delay(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Wrong("This must be a number of seconds.")
    if not 0 <= value <= LONGEST_DELAY:  # NaN neither
        raise _Wrong(f"This must be between 0 and {LONGEST_DELAY} seconds.")
    return value


def _moment(value: Any) -> datetime:
    moment = value
    if isinstance(value, str):
        try:
            moment = parse_datetime(value)
        except ValueError as error:
            raise _Wrong(f"There is no such time: {error}.") from None
    if not isinstance(moment, datetime):
        raise _Wrong("This must be a time such as 2027-03-14T07:00:00Z.")
    if moment.tzinfo is None:
        raise _Wrong("Say the offset from UTC: Z or +02:00.")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise _Wrong("This time is out of range.") from None
    if not datetime(1000, 1, 1, tzinfo=UTC) <= moment < LATEST:
        raise _Wrong("This time is out of range.")
    return moment


def _payload(value: Any) -> str:
    return as_json(value)


def _labels(value: Any) -> str:
    if not isinstance(value, dict) or len(value) > LABELS_MAX:
        raise _Wrong(f"This must be an object with at most {LABELS_MAX} texts.")
    for name, text in value.items():
        try:
            _text(NAME_MAX)(name)
            _text(KEY_MAX)(text)
        except _Wrong as wrong:
            wrong.within = f"/{pointed(str(name))}"
            raise
    return as_json(value, what="label set")


def _parents(value: Any) -> list[UUID]:
    if not isinstance(value, list | tuple):
        raise _Wrong("This must be a list of job ids.")
    parents = [_parent(place, one) for place, one in enumerate(value)]  # one given twice stays: faults name its place
    if (count := len(set(parents))) > settings.DEPENDENCIES_MAX:
        raise _Wrong(f"At most {settings.DEPENDENCIES_MAX} parents; this has {count}.")
    return parents


def _parent(place: int, value: Any) -> UUID:
    try:
        return _id(value)
    except _Wrong as wrong:
        wrong.within = f"/{place}"
        raise


def _id(value: Any) -> UUID:
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise _Wrong("This must be an id.") from None


def _choice(values: Collection[str]) -> Callable[[Any], str]:
    def rule(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise _Wrong(f"This must be one of {', '.join(values)}.")
        return str(value)

    return rule


def _policy(value: Any) -> Any:
    return _text(NAME_MAX)(value) if isinstance(value, str) else value


_RULES: dict[str, Callable[[Any], Any]] = {
    "type": _text(NAME_MAX),
    "payload": _payload,
    "priority": _whole(-SMALL, SMALL),
    "run_at": _moment,
    "delay_seconds": _delay,
    "timeout_ms": _whole(1, TIMEOUT_MAX_MS),
    "retry_policy": _policy,  # looked up in the project by submit
    "max_attempts": _whole(1, SMALL),
    "max_losses": _whole(1, SMALL),
    "max_snoozes": _whole(0, SMALL),
    "depends_on": _parents,
    "on_parent_failure": _choice(OnParentFailure.values),
    "unique_key": _text(KEY_MAX),
    "concurrency_key": _text(KEY_MAX),
    "requires_approval": _flag,
    "workflow": _id,
    "required_worker": _text(NAME_MAX),  # its uid; looked up by submit
    "placement": _choice(Placement.values),
    "labels": _labels,
}
WORKFLOW_RULES = {
    "name": _text(NAME_MAX), "priority": _RULES["priority"], "labels": _labels,
    "affinity": _flag, "dedicated": _flag, "required_worker": _RULES["required_worker"],
}  # fmt: skip
STEP_RULES = {"name": _text(NAME_MAX), "queue": _text(NAME_MAX)}  # besides those of a job
