"""How the last jobs of queues with a breaker ended, and which breakers that trips.

The ledger has no index by queue, for each would be written with every attempt. So whoever watches remembers the last
outcomes of each queue and reads only what has ended since it last looked.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from apps.sql import Statement, Steps, Verb

BACK = timedelta(minutes=10)  # read at the first look, and after an outage
LATE = timedelta(seconds=30)  # an outcome that takes longer to be committed may be missed
AHEAD = timedelta(minutes=1)  # of the clock that was asked before


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one job of a queue ended, and the rules of that queue; without an id only the rules, and the rest is empty."""

    queue_id: UUID
    since: datetime
    window: int
    trip: int | None
    share: float | None
    finished_at: datetime
    id: UUID | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Tripped:
    """A breaker that its rules open: so many of the last outcomes since then were failures."""

    queue_id: UUID
    since: datetime
    failures: int


@dataclass(frozen=True, slots=True)
class _Settled:
    now: datetime
    at: datetime
    since: datetime | None


class Window:
    """The last outcomes of one queue that started after `since`."""

    def __init__(self, since: datetime) -> None:
        self.since = since
        self.last: list[tuple[datetime, UUID, bool]] = []

    def add(self, outcomes: list[Outcome]) -> None:
        """Take in what ended, known already or new, in any order."""
        ended = {(one.finished_at, one.id, one.failed) for one in outcomes if one.id}
        self.last = sorted(ended.union(self.last))[-outcomes[0].window :]

    def judge(self, rules: Outcome) -> list[Tripped]:
        """Enough failures trip it at once, a share of them once the window is full."""
        failures = sum(failed for _, _, failed in self.last)
        many = rules.trip is not None and failures >= rules.trip
        full = len(self.last) >= rules.window
        large = rules.share is not None and full and failures / rules.window >= rules.share
        return [Tripped(rules.queue_id, self.since, failures)] if many or large else []


_settled = Statement.beside(__file__, _Settled, "outcomes_settled")
_nested = Statement.beside(__file__, str, "outcomes_nested")
_outcomes = Statement.beside(__file__, Outcome)


class Watch:
    """Remembers the windows of all queues with a breaker. Any number may watch; a breaker opens once all the same."""

    def __init__(self) -> None:
        self.windows: dict[UUID, Window] = {}
        self.seen_until: datetime | None = None
        self.look = Verb(self._steps)

    def _steps(self) -> Steps[list[Tripped]]:
        """Read what ended since the last look; answers the breakers that are to be opened.

        What the ledger does not show yet belongs to somebody whom the first statement saw at work.
        """
        [settled] = yield from _settled.ask()
        tripped: list[Tripped] = []
        if settled.since is None:
            self.windows = {}
        else:
            begins = max(self.seen_until or settled.since, settled.since, settled.now - BACK)
            yield from _nested.ask(loops="off")
            rows = yield from _outcomes.ask(begins=begins, ends=settled.now + AHEAD)
            yield from _nested.ask(loops="on")
            tripped = self._judge(rows)
        self.seen_until = max(settled.at, settled.now - LATE)
        return tripped

    def _judge(self, rows: list[Outcome]) -> list[Tripped]:
        known, self.windows, tripped = self.windows, {}, []
        for queue_id, group in groupby(rows, key=lambda row: row.queue_id):
            rules, *_ = outcomes = list(group)
            window = known.get(queue_id)
            self.windows[queue_id] = window = window if window and window.since == rules.since else Window(rules.since)
            window.add(outcomes)
            tripped += window.judge(rules)
        return tripped
