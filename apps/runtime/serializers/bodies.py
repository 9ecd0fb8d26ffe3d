"""What a remote worker may say."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from rest_framework import serializers

from apps.accounts.serializers.fields import Body, Entries, Flag, Id, Items, Json, Number, Pick, Text, Whole
from apps.jobs.services.check import as_json
from apps.jobs.states import Outcome

NAME_MAX, HOST_MAX, QUEUE_MAX, NOTE_MAX, LINE_MAX = 128, 255, 260, 1000, 8192
MANY = 1000  # queues, types, jobs of a call
SLOTS_MAX = 1000
OBJECT_MAX = 8192  # bytes of what a worker says of its machine
WAIT_MAX = 30  # seconds
DELAY_MAX_MS = 10 * 366 * 86_400_000
BIG = 2**53 - 1

# What a worker may call an end; that it was lost is for others to say.
OUTCOMES = [outcome.value for outcome in Outcome if outcome is not Outcome.LOST]
LEVELS = ["debug", "info", "warning", "error", "critical"]
_FENCE = re.compile(r"[0-9]{1,18}", re.ASCII)


class Fence(Text):
    """A fence, as text: the number passes 2^53."""

    default_error_messages = {"fence": "This must be the fence of a claim, as text."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or not _FENCE.fullmatch(data):
            self.fail("fence")
        return int(data)


class Object(Json):
    """A JSON object of a few kilobytes; answered as its text."""

    default_error_messages = {
        "object": "This must be an object.",
        "large": "This has {size} bytes; the limit is {most}.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            self.fail("object")
        text = json.dumps(data, ensure_ascii=False)
        if len(text.encode()) > OBJECT_MAX:
            self.fail("large", size=len(text.encode()), most=OBJECT_MAX)
        return text


class Result(Json):
    """Any JSON of at most PAYLOAD_MAX_BYTES; answered as its text."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return as_json(data, what="result")
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


def _few(child: Callable[[], Any], **options: Any) -> serializers.ListField:
    return Items(child=child(), max_length=MANY, **options)


def _names(longest: int, **options: Any) -> serializers.ListField:
    return _few(lambda: Text(max_length=longest), **options)


class Begin(Body):
    """A session to begin."""

    uid = Text(max_length=NAME_MAX, help_text="The worker's stable name; a new session of it fences the old one.")
    types = _names(NAME_MAX, min_length=1, help_text="Job types it has handlers for.")
    queues = _names(
        QUEUE_MAX, required=False, min_length=1, help_text="By id or project/queue; all there are now, unless said."
    )
    concurrency = Whole(
        min_value=1, max_value=SLOTS_MAX, required=False, help_text="Jobs it runs at once; 1 unless said."
    )
    lease_seconds = Number(
        min_value=1, max_value=3600, required=False, help_text="How long it may be silent; LEASE_SECONDS unless said."
    )
    version = Text(max_length=NAME_MAX, required=False, allow_blank=True)
    hostname = Text(max_length=HOST_MAX, required=False, allow_blank=True)
    pid = Whole(min_value=0, max_value=2**31 - 1, required=False)
    capabilities = Object(required=False, help_text="What its machine can do.")
    organization = Id(required=False, help_text="Only for callers without an API token of one.")


class Claim(Body):
    """What to claim: no more than the session began with."""

    queues = _names(QUEUE_MAX, required=False, min_length=1, help_text="Some of the session's, by id.")
    types = _names(NAME_MAX, required=False, min_length=1, help_text="Some of the session's.")
    limit = Whole(
        min_value=1, max_value=SLOTS_MAX, required=False, help_text="Jobs; as many as there are slots, unless said."
    )
    wait_seconds = Number(min_value=0, max_value=WAIT_MAX, required=False, help_text="For work, when there is none.")


class Held(Body):
    job = Id()
    fence = Fence()


class Told(Held):
    done = Whole(min_value=0, max_value=BIG)
    total = Whole(min_value=0, max_value=BIG, required=False, allow_null=True)
    stage = Text(max_length=NAME_MAX, required=False, allow_blank=True)
    note = Text(max_length=NOTE_MAX, required=False, allow_blank=True)


class Line(Held):
    line = Whole(min_value=1, max_value=2**31 - 1, help_text="Counts from 1 within the attempt.")
    level = Pick(LEVELS, required=False)
    message = Text(max_length=LINE_MAX, allow_blank=True)


class Heartbeat(Body):
    """That it lives, and what it knows of."""

    held = _few(
        Held, required=False, help_text="What it runs; without it nothing can be said of cancelled and lost jobs."
    )
    progress = _few(Told, required=False)
    logs = _few(Line, required=False)
    draining = Flag(required=False, help_text="It claims no more, for good.")
    sample = Object(required=False, help_text="Processor, memory, disk, as GET /workers shows them.")


class End(Held):
    """How one attempt ended."""

    outcome = Pick(OUTCOMES)
    result = Result(required=False, allow_null=True, help_text="Of a success, or what a person is to look at.")
    error_class = Text(required=False, allow_null=True)
    error_message = Text(required=False, allow_null=True, allow_blank=True)
    traceback = Text(required=False, allow_null=True, allow_blank=True)
    delay_ms = Whole(
        min_value=0, max_value=DELAY_MAX_MS, required=False, allow_null=True,
        help_text="Until the next attempt, instead of what the retry policy says.",
    )  # fmt: skip
    next_jobs = Items(child=Entries(), required=False, help_text="Jobs of the same queue that a success makes.")


class Report(Body):
    results = _few(End, min_length=1)
    progress = _few(Told, required=False, help_text="What they said last, after the last heartbeat.")
    logs = _few(Line, required=False)


def lease_default() -> float:
    return float(settings.LEASE_SECONDS)
