"""How far an attempt came and what it saved, beside the fact that it ended.

A fact is what the change itself wrote; these are read when it is told, once per process however many listen. So they are
those of the attempt for as long as no later one has said anything, and null after that.
A fence is the moment of its claim, so an attempt of the same number after a replay is told apart.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from apps.audit.tail import Frame
from apps.jobs.selectors.detail import files
from apps.jobs.states import JobState
from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class _Said:
    job_id: UUID
    attempt: int
    stage: str
    done: int
    total: int | None
    claimed_at: datetime


_reached = Statement.beside(__file__, _Said)


def reached(frames: Sequence[Frame]) -> list[Frame]:
    """The same frames, with `stage`, `done`, `total` and `saved` where an attempt has ended."""
    ids = _ended(frames)
    return _complete(frames, _reached(ids=ids)) if ids else list(frames)


async def reached_on(connection: psycopg.AsyncConnection[Any], frames: Sequence[Frame]) -> list[Frame]:
    """The same on a connection of one's own; files are looked for in a thread."""
    ids = _ended(frames)
    if not ids:
        return list(frames)
    return await asyncio.to_thread(_complete, frames, await _reached.on(connection, ids=ids))


def _ended(frames: Sequence[Frame]) -> list[UUID]:
    return list({frame.job_id for frame in frames if frame.job_id and _has_run(frame)})


def _has_run(frame: Frame) -> bool:
    return bool(frame.attempt) and frame.state != JobState.RUNNING


def _complete(frames: Sequence[Frame], rows: Sequence[_Said]) -> list[Frame]:
    said = {row.job_id: row for row in rows}
    return [_with(frame, said.get(frame.job_id)) if frame.job_id and _has_run(frame) else frame for frame in frames]


def _with(frame: Frame, said: _Said | None) -> Frame:
    saved = next((path.name for path in files(frame.job_id)), None) if frame.job_id else None
    if said is None or said.attempt != frame.attempt or said.claimed_at > frame.at:
        return replace(frame, saved=saved) if saved else frame
    return replace(frame, stage=said.stage, done=said.done, total=said.total, saved=saved)
