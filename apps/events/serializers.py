"""Events as clients see them: one JSON object per number."""

import json
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from rest_framework import serializers

from apps.accounts.serializers.fields import Count, Id, Query, Text
from apps.audit.tail import Frame, Held
from apps.events.engine.progress import Progress
from apps.jobs.api.shown import file_url
from apps.jobs.states import FINAL, JobState

VERSION = 1


class EventsQuery(Query):
    after = Count(
        min_value=0,
        max_value=2**63 - 1,
        required=False,
        help_text="The last number you have; unless said, the oldest held.",
    )
    limit = Count(min_value=1, max_value=200, required=False, help_text="50 unless said.")
    kind = Text(max_length=128, required=False, help_text="Such as job.completed.")
    queue = Id(required=False)
    timeline = Text(max_length=8, required=False, help_text="That of the page before: whose history `after` is of.")


class FrameAnswer(serializers.Serializer[Any]):
    """One fact, as the stream tells it: docs/events.md."""

    v = serializers.IntegerField()
    seq = serializers.IntegerField()
    prev_seq = serializers.IntegerField(help_text="The number before it among those asked for.")
    kind = serializers.CharField()
    project_id = serializers.UUIDField()
    queue_id = serializers.UUIDField(allow_null=True)
    job_id = serializers.UUIDField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    stage = serializers.CharField(allow_null=True, help_text="Of an attempt that has ended: what it said last.")
    done = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_null=True)
    result_url = serializers.CharField(allow_null=True, help_text="The first file it saved.")
    at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    data = serializers.JSONField(allow_null=True)  # type: ignore[assignment]


class EventsAnswer(serializers.Serializer[Any]):
    results = FrameAnswer(many=True)
    next = serializers.IntegerField(
        help_text="What to send as `after` next time, whether there is more already or not."
    )
    head = serializers.IntegerField(help_text="The last number given out.")
    oldest = serializers.IntegerField(help_text="The first number still held.")
    timeline = serializers.CharField()


class PartAnswer(serializers.Serializer[Any]):
    """The machine a web process runs on; bytes and percent."""

    processor = serializers.DictField()
    memory = serializers.DictField()
    disk = serializers.DictField()


def frame_of(frame: Frame, project_id: UUID) -> dict[str, Any]:
    """One fact. `data` says what else a reader of its kind needs; absent values are null."""
    is_end = frame.state in FINAL
    return {
        "v": VERSION,
        "seq": frame.seq,
        "prev_seq": frame.prev_seq,
        "kind": frame.kind,
        "project_id": project_id,
        "queue_id": frame.queue_id,
        "job_id": frame.job_id,
        "state": frame.state,
        "attempt": frame.attempt,
        "stage": frame.stage,
        "done": frame.done,
        "total": frame.total,
        "error": frame.error,
        "result_url": file_url(frame.job_id, frame.saved) if frame.job_id and frame.saved else None,
        "at": frame.at,
        "finished_at": frame.at if is_end else None,
        "data": frame.data,
    }


def progress_of(said: Progress) -> dict[str, Any]:
    """How far a running job is: beside the log, so it has no number."""
    return {
        "v": VERSION,
        "kind": "job.progress",
        "project_id": said.project_id,
        "queue_id": said.queue_id,
        "job_id": said.job_id,
        "state": JobState.RUNNING.value,
        "attempt": said.attempt,
        "stage": said.stage,
        "done": said.done,
        "total": said.total,
        "note": said.note,
        "at": said.at,
    }


def hello(held: Held, after: int) -> dict[str, Any]:
    """The first frame of a stream: where it begins, and what a cursor means here."""
    return {
        "v": VERSION,
        "kind": "hello",
        "after": after,
        "head": held.head,
        "oldest": held.oldest,
        "timeline": held.timeline,
    }


def as_text(frame: dict[str, Any]) -> str:
    return json.dumps(frame, cls=DjangoJSONEncoder, separators=(",", ":"))
