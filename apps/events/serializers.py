"""Events as clients see them: one JSON object per number."""

import json
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder

from apps.audit.tail import Frame, Held
from apps.events.engine.progress import Progress
from apps.jobs.states import FINAL, JobState

VERSION = 1


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
        "error": frame.error,
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
