"""What there is to measure of the whole installation, in two statements however much there is of it."""

from dataclasses import dataclass

from apps.jobs.engine.health import CAP
from apps.sql import Statement, Steps, Verb

QUEUES = 1000  # measured; an installation with more names what is left out
DEAD_CAP = 1000  # dead letters counted in a queue


@dataclass(frozen=True, slots=True)
class OfQueue:
    """One queue. Of what ended, the last five minutes."""

    organization: str
    project: str
    name: str
    queued: int
    running: int
    dead: int  # at most DEAD_CAP
    oldest_seconds: float | None
    cap: int | None
    is_paused: bool
    breaker: str
    completed: int
    failed: int
    dead_lettered: int
    lost: int


@dataclass(frozen=True, slots=True)
class OfAll:
    """The rest. `outbox_seconds` is the age of the oldest fact that has no number yet."""

    queues: int
    workers: int
    draining: int
    slots: int
    outbox_seconds: float | None
    rollup_seconds: float | None  # since the ledger was last summed up; by any scheduler


_queues = Statement.beside(__file__, OfQueue)
_whole = Statement.beside(__file__, OfAll, "metrics_whole")


@Verb
def metrics(*, limit: int = QUEUES) -> Steps[tuple[OfAll, list[OfQueue]]]:
    """Measure."""
    [whole] = yield from _whole.ask()
    return whole, (yield from _queues.ask(limit=limit, cap=CAP, dead_cap=DEAD_CAP))
