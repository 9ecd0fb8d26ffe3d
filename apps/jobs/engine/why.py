"""Look at everything that decides when a live job is handed out. What it means is said in apps/jobs/selectors/why.py."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement

FAR = 1000  # jobs ahead of it that are counted
FEW = 5  # of its parents, and of the jobs that hold a place, are named
STEPS = 200  # types of a queue


@dataclass(frozen=True, slots=True)
class Facts:
    """One live job and what it stands before. None: there is no such limit, or it does not matter in its state."""

    now: datetime
    state: str
    resume_state: str | None
    type: str
    run_at: datetime
    attempt: int
    max_attempts: int
    pending: int
    parents: list[UUID] | None
    parent_types: list[str] | None  # "" for one that is not live any more
    parent_states: list[str] | None
    requires_approval: bool  # and nobody has given it
    approval_since: datetime | None  # since when somebody could
    asked: bool  # by its handler
    held_by: str | None  # who paused this job
    held_at: datetime | None
    hold_reason: str | None
    paused_at: datetime | None  # the queue
    paused_until: datetime | None
    paused_by: str
    pause_reason: str
    type_paused_at: datetime | None
    type_paused_until: datetime | None
    type_paused_by: str | None
    type_pause_reason: str | None
    serving: int  # live workers of the queue …
    announcing: int  # … that know the type …
    draining: int  # … and such that take no more
    away: int  # … and such that are reserved for somebody else
    known_until: datetime | None  # when the last one that knew it was gone
    max_concurrency: int | None
    cap: int | None
    in_flight: int | None
    counting: bool | None  # a limit that is new admits nothing until what runs is counted
    running: list[UUID] | None
    key: str | None
    key_full: bool
    max_per_key: int | None
    key_holds: int | None  # jobs with the same key that run or may be claimed
    sharers: list[UUID] | None  # some of them
    rate: float | None
    tokens: float | None
    breaker: str | None
    reopens_at: datetime | None
    trips: int | None  # 0: it was opened by hand
    probe_job: UUID | None
    target: str | None  # the worker it is bound to
    target_live_at: datetime | None  # until when that one's lease holds, or when it was last there
    target_drains: bool | None
    target_reserved: bool | None  # for somebody else
    target_is_able: bool | None  # serves its queue and knows its type
    reservation: str | None  # the state of the reservation that it waits for
    reservation_error: str | None
    slots: int
    held: int
    ahead: int | None  # of its queue; equal to FAR: at least so many
    per_second: float | None  # jobs of the queue


_why = Statement.beside(__file__, Facts)


def why(*, job_id: UUID) -> Facts | None:
    """What decides about a job; None for one that is not live."""
    rows = _why(job_id=job_id, far=FAR, few=FEW, steps=STEPS)
    return rows[0] if rows else None
