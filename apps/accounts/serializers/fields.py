"""What goes in, taken by the letter: a number is a number, a text is a text, and nothing unknown passes.

Django REST framework would take "5" for 5 and cut white space off; a caller who meant something
else should hear of it, in the words that services.check has for jobs.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

from django.core.validators import EmailValidator
from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from apps.accounts.models import slug_rule
from apps.errors import BadInput, Fault, UnknownField, pointed

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DIGITS = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
LATEST = datetime(9998, 12, 31, tzinfo=UTC)


class Said:
    """What every field says in the same words; tests/api/test_voice.py knows those of the framework."""

    default_error_messages: ClassVar[Any] = {"required": "This must be given.", "null": "This must not be null."}


class Body(Said, serializers.Serializer[Any]):
    """A JSON object; a field it does not have is refused by name."""

    default_error_messages = {"invalid": "This must be an object."}
    where = "#/"

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = [name for name in data if name not in self._known()]
            if unknown:
                faults = [Fault(f"{self.where}{pointed(name)}", "There is no such field.") for name in unknown]
                raise UnknownField(f"There is no field {unknown[0]!r}.", errors=faults)
        return super().to_internal_value(data)

    def checked(self) -> dict[str, Any]:
        """What was given, checked; raises BadInput naming each fault."""
        if not self.is_valid():
            faults = faults_of(self.errors, self.where.removesuffix("/"))
            raise BadInput(f"{faults[0].pointer}: {faults[0].detail}", errors=faults)
        return dict(self.validated_data)

    def _known(self) -> set[str]:
        return {name for name, field in self.fields.items() if not field.read_only}


class Query(Body):
    """The parameters behind the question mark; each once."""

    where = "?"


class Text(Said, serializers.CharField):
    """A text as it is: not trimmed, not made from a number."""

    default_error_messages = {
        "max_length": "At most {max_length} characters; this has %(show_value)s.",
        "unstorable": "NUL and lone surrogates cannot be stored.",
    }

    def __init__(self, **kwargs: Any) -> None:
        said = "This must be a text." if kwargs.get("allow_blank") else "This must be a text that is not empty."
        super().__init__(**{"trim_whitespace": False, "error_messages": {"invalid": said, "blank": said}, **kwargs})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if _UNSTORABLE.search(data):
            self.fail("unstorable")
        return super().to_internal_value(data)


class Slug(Text):
    """A name that can stand in an address."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=128, **kwargs)
        self.validators.append(slug_rule)


class Email(Text):
    """An e-mail address."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=254, **kwargs)
        self.validators.append(EmailValidator("This is no e-mail address."))


class Id(Said, serializers.UUIDField):
    """An id, as text."""

    default_error_messages = {"invalid": "This must be an id."}

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


def _within(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """How a number is bounded."""
    least, most = kwargs.get("min_value"), kwargs.get("max_value")
    if least is None or most is None:
        return {"min_value": f"This must be at least {least}.", "max_value": f"This must be at most {most}."}
    return dict.fromkeys(("min_value", "max_value"), f"This must be between {least} and {most}.")


class Whole(Said, serializers.IntegerField):
    """A whole number, written as one."""

    default_error_messages = {"invalid": "This must be a whole number."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(error_messages=_within(kwargs), **kwargs)

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return super().to_internal_value(data)


class Count(Whole):
    """A whole number, as a parameter is written."""

    def to_internal_value(self, data: Any) -> int:
        if not _DIGITS.fullmatch(data):
            self.fail("invalid")
        return super().to_internal_value(int(data))


class Flag(Said, serializers.BooleanField):
    """true or false."""

    default_error_messages = {"invalid": "This must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=data)
        return data


class Switch(Flag):
    """true or false, as a parameter is written."""

    def to_internal_value(self, data: Any) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid", input=data)
        return bool(data == "true")


class Number(Said, serializers.FloatField):
    """A number."""

    default_error_messages = {"invalid": "This must be a number.", "overflow": "This number is out of range."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(error_messages=_within(kwargs), **kwargs)

    def to_internal_value(self, data: Any) -> float:
        if type(data) not in (int, float):
            self.fail("invalid")
        return super().to_internal_value(data)


class Moment(Said, serializers.DateTimeField):
    """RFC 3339 with an offset, kept in UTC."""

    default_error_messages = {
        "text": "This must be a time such as 2027-03-14T07:00:00Z.",
        "offset": "Say the offset from UTC: Z or +02:00.",
        "range": "This time is out of range.",
    }

    def to_internal_value(self, value: Any) -> datetime:
        if not isinstance(value, str):
            self.fail("text")
        if not _RFC3339.fullmatch(value):
            self.fail("offset" if _RFC3339.fullmatch(f"{value}Z") else "text")
        try:
            moment = parse_datetime(value.upper())
            moment = moment.astimezone(UTC) if moment else None
        except (ValueError, OverflowError):
            self.fail("range")
        if moment is None or not datetime(1970, 1, 1, tzinfo=UTC) < moment < LATEST:
            self.fail("range")
        return moment


class Pick(Said, serializers.ChoiceField):
    """One of a few texts."""

    def __init__(self, choices: Any, **kwargs: Any) -> None:
        super().__init__(choices, **kwargs)
        self.error_messages["invalid_choice"] = f"This must be one of {', '.join(self.choices)}."

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class Json(Said, serializers.JSONField):
    """Any JSON."""


class Items(Said, serializers.ListField):
    """A list."""

    default_error_messages = {
        "not_a_list": "This must be a list.",
        "min_length": "Give at least {min_length}.",
        "max_length": "At most {max_length}; this has %(show_value)s.",
    }


class Entries(Said, serializers.DictField):
    """An object whose keys are the caller's."""

    default_error_messages = {"not_a_dict": "This must be an object."}


def faults_of(detail: Any, pointer: str = "#") -> list[Fault]:
    """What a serializer found wrong, one by one; `pointer` is "?" for parameters."""
    if isinstance(detail, dict):
        slash = "" if pointer == "?" else "/"
        below = [
            (f"{pointer}{slash}{pointed(str(key))}" if key != "non_field_errors" else pointer, inner)
            for key, inner in detail.items()
        ]
        return [fault for place, inner in below for fault in faults_of(inner, place)]
    if isinstance(detail, list):
        places = [f"{pointer}/{n}" if isinstance(inner, dict) else pointer for n, inner in enumerate(detail)]
        return [fault for place, inner in zip(places, detail, strict=True) for fault in faults_of(inner, place)]
    return [Fault(pointer, str(detail))]
