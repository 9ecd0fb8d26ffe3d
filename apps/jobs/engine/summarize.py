"""Summarize what fails in queues, by error class and top frame, from the ledger: no attempt that ends touches a summary."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from apps.sql import Statement

EVERY_MS = 240_000  # between two looks at a queue, whichever scheduler takes them
SLIDE_MS = 3_600_000  # after which a summary is made anew although nothing has failed since: its window has moved on
MARGIN_SECONDS = 60.0  # for failures that were being written when somebody looked
LIMIT = 100  # queues a turn
ROWS_MAX = 5000  # failures of a queue that are looked at: the newest
GROUPS_MAX = 50  # kept: those with most failures
MESSAGE_MAX, FRAME_MAX = 500, 300  # characters kept of the newest message, and of a frame
TRACE_MAX = 8192  # characters that are looked at of each end of a long traceback


@dataclass(frozen=True, slots=True)
class Due:
    """A queue whose failures are to be summarized, and from when on."""

    queue_id: UUID
    begins: datetime


_due = Statement.beside(__file__, Due, "summarize_due")
_summarize = Statement.beside(__file__, lambda state: state)


def due(*, window_hours: int, limit: int = LIMIT, every_ms: int = EVERY_MS) -> list[Due]:
    """Up to `limit` queues that have failed since somebody looked, or whose window has moved on by an hour."""
    return _due(
        window_hours=window_hours, every_ms=every_ms, slide_ms=SLIDE_MS, margin_seconds=MARGIN_SECONDS, limit=limit
    )


def summarize(one: Due, *, window_hours: int, writes: bool) -> bool:
    """Keep what failed in a queue as its summary; `writes` says that a model is there to write prose.

    False where the queue has been deleted, or somebody has looked since.
    """
    return bool(
        _summarize(
            queue_id=one.queue_id,
            begins=one.begins,
            ends=one.begins + timedelta(hours=window_hours, minutes=1),  # no later, so that the days ahead are left out
            window_hours=window_hours,
            writes=writes,
            rows_max=ROWS_MAX,
            groups_max=GROUPS_MAX,
            message_max=MESSAGE_MAX,
            frame_max=FRAME_MAX,
            trace_max=TRACE_MAX,
        )
    )
