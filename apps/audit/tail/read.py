"""Pages of a project's log, one frame per number."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from apps.errors import CursorAhead, CursorTooOld
from apps.sql import Statement

type Connection = psycopg.AsyncConnection[Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """One numbered fact. `prev_seq` is the number that a reader of the same kind of facts saw before it.

    The last four are no part of the log: whoever tells a fact may know them besides.
    """

    seq: int
    prev_seq: int
    kind: str
    queue_id: UUID | None
    job_id: UUID | None
    state: str | None
    attempt: int | None
    error: str | None
    at: datetime
    data: dict[str, Any] | None
    stage: str | None = None
    done: int | None = None
    total: int | None = None
    saved: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What the log holds of a project: its last number, the oldest one kept, and the database's timeline."""

    head: int
    oldest: int
    timeline: str


@dataclass(frozen=True, slots=True)
class Head:
    project_id: UUID
    seq: int
    timeline: str


@dataclass(frozen=True, slots=True)
class _Event:
    first_seq: int
    last_seq: int
    kind: str
    queue_id: UUID | None
    state: str | None
    job_ids: list[UUID]
    attempts: list[int | None] | None
    errors: list[str | None] | None
    at: datetime
    data: dict[str, Any] | None


_read = Statement.beside(__file__, _Event)
_held = Statement.beside(__file__, Held, "read_held")
heads = Statement.beside(__file__, Head, "read_heads")


def held(project_id: UUID) -> Held:
    """What the log holds of a project now."""
    return _held(project_id=project_id)[0]


async def held_on(connection: Connection, project_id: UUID) -> Held:
    return (await _held.on(connection, project_id=project_id))[0]


def check_cursor(now: Held, *, after: int, timeline: str | None = None) -> None:
    """Refuse a cursor that would skip events, or that another history gave out."""
    if after > now.head or (timeline and timeline != now.timeline):
        raise CursorAhead(head=now.head, oldest=now.oldest, timeline=now.timeline)
    if after < now.oldest - 1:
        raise CursorTooOld(head=now.head, oldest=now.oldest, timeline=now.timeline)


def read_events(
    *, project_id: UUID, after: int, limit: int, kind: str | None = None, queue_id: UUID | None = None
) -> list[Frame]:
    """Up to `limit` frames after a number, oldest first. Ask `check_cursor` first."""
    rows = _read(project_id=project_id, after=after, limit=limit, kind=kind, queue_id=queue_id)
    return _frames(rows, after, limit)


async def read_events_on(connection: Connection, *, project_id: UUID, after: int, limit: int) -> list[Frame]:
    """The same on a connection of one's own, of every kind and queue."""
    rows = await _read.on(connection, project_id=project_id, after=after, limit=limit, kind=None, queue_id=None)
    return _frames(rows, after, limit)


def _frames(rows: list[_Event], after: int, limit: int) -> list[Frame]:
    """Slice packed rows into frames, from the cursor on."""
    frames: list[Frame] = []
    before = after
    for row in rows:
        for seq in range(max(row.first_seq, after + 1), row.last_seq + 1):
            if len(frames) == limit:
                return frames
            frames.append(_frame(row, seq, before))
            before = seq
    return frames


def _frame(row: _Event, seq: int, before: int) -> Frame:
    place = seq - row.first_seq
    return Frame(
        seq=seq,
        prev_seq=before,
        kind=row.kind,
        queue_id=row.queue_id,
        job_id=row.job_ids[place] if row.job_ids else None,
        state=row.state,
        attempt=row.attempts[place] if row.attempts else None,
        error=row.errors[place] if row.errors else None,
        at=row.at,
        data=row.data,
    )
