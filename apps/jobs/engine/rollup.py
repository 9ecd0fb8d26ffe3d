"""Sum up by queue and minute how attempts ended, from the ledger: no attempt that ends touches a counter."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.sql import Statement, Steps, Verb

EVERY_MS = 7500  # between two turns, whichever scheduler takes them
SPAN_MINUTES = 15  # summed up in one transaction: after a pause of schedulers there is more
BACK_HOURS = 24  # no further than that is anything made good
MARGIN_SECONDS = 5.0  # for ends that are being written, and have no transaction id yet
LATE_SECONDS = 600.0  # an end that takes longer to be committed may be missed
SLOTS = 56  # of a histogram, each √2 times as wide as the one before; the last begins at 2^27 ms, a day and a half


@dataclass(frozen=True, slots=True)
class Rolled:
    """What one turn did: the queues whose minutes changed, and whether minutes are left that nobody has summed up."""

    queues: list[UUID]
    is_behind: bool


@dataclass(frozen=True, slots=True)
class _Due:
    begins: datetime
    ends: datetime
    settled_at: datetime
    is_behind: bool


_turn = Statement.beside(__file__, bool, "rollup_turn")
_due = Statement.beside(__file__, _Due, "rollup_due")
_rollup: Statement[UUID] = Statement.beside(__file__, lambda queue_id: queue_id)
_mark: Statement[datetime] = Statement.beside(__file__, lambda settled_at: settled_at, "rollup_mark")


def rollup_steps(*, every_ms: int = EVERY_MS, margin_seconds: float = MARGIN_SECONDS) -> Steps[Rolled | None]:
    """Sum up what is not settled; None where somebody else does, or has just done so.

    Minutes are summed up anew until every transaction that was open in them has ended: late rows count too.
    """
    if not (yield from _turn.ask()):
        return None
    due = yield from _due.ask(
        every_ms=every_ms,
        span_minutes=SPAN_MINUTES,
        back_hours=BACK_HOURS,
        margin_seconds=margin_seconds,
        late_seconds=LATE_SECONDS,
    )
    if not due:
        return None
    [span] = due
    queues = yield from _rollup.ask(begins=span.begins, ends=span.ends, last_slot=SLOTS - 1)
    yield from _mark.ask(ends=span.ends, settled_at=span.settled_at)
    return Rolled(queues, is_behind=span.is_behind)


rollup = Verb(rollup_steps)


def percentile(histogram: Sequence[int], share: float) -> float | None:
    """The milliseconds that this share of a histogram stays below, as exactly as its slots are fine."""
    wanted = sum(histogram) * share
    if not wanted:
        return None
    passed = 0
    for slot, count in enumerate(histogram):
        if count and passed + count >= wanted:
            return _within(slot, (wanted - passed) / count)
        passed += count
    return None


def _within(slot: int, part: float) -> float:
    """So far into a slot; on a logarithmic scale, but for the first, which begins at 0."""
    return part if slot == 0 else float(2 ** ((slot - 1 + part) / 2))
