"""How queues do: what the facts say of each, in a word and a reason; and its minutes, one by one."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.jobs.engine.health import Facts
from apps.jobs.engine.rollup import percentile
from apps.queues.models import BreakerState, MinuteStat

LATE_SECONDS = 300.0  # how long the first may wait until the queue is called late
HEALTHS = ["moving", "idle", "paused", "tripped", "late", "stuck"]
TIMES = tuple(f"{what}_p{share}_ms" for what in ("wait", "run") for share in (50, 95, 99))
COUNTS = ("completed", "failed", "dead_lettered", "lost")


@dataclass(frozen=True, slots=True)
class Judged:
    """One queue and how it does."""

    facts: Facts
    health: str
    reason: str

    @property
    def saturated(self) -> bool:
        return self.facts.cap is not None and self.facts.in_flight >= self.facts.cap

    @property
    def starved(self) -> bool:
        """Something waits, and no live worker serves it."""
        return bool(self.facts.waiting) and not self.facts.live_workers

    @property
    def p95_ms(self) -> float | None:
        return percentile(self.facts.runs or [], 0.95)


def judge(facts: Facts) -> Judged:
    """Say in a word how a queue does; what holds all of it back comes first."""
    seen = Judged(facts, "", "")
    for applies, word, reason in (
        (facts.paused, "paused", facts.pause_reason),
        (facts.breaker == BreakerState.OPEN, "tripped", "its breaker is open"),
        (facts.breaker == BreakerState.HALF_OPEN, "tripped", "its breaker lets one job at a time try"),
        (seen.starved, "stuck", "no live worker serves this queue"),
        ((facts.oldest_seconds or 0) > LATE_SECONDS, "late", _why_late(seen)),
        (bool(facts.waiting or facts.in_flight), "moving", ""),
    ):
        if applies:
            return Judged(facts, word, reason)
    return Judged(facts, "idle", "")


def _why_late(seen: Judged) -> str:
    if seen.saturated:
        return f"all {seen.facts.cap} slots of its cap are in use"
    if seen.facts.rate_limited:
        return "its rate lets no more start"
    if not seen.facts.in_flight:
        return "no live worker takes its jobs"
    return "jobs come in faster than they are run"


def minutes(*, queue_id: UUID, count: int) -> list[dict[str, Any]]:
    """The last so many minutes of a queue, the oldest first; one in which nothing ended is there too."""
    last = datetime.now(UTC).replace(second=0, microsecond=0)
    wanted = [last - timedelta(minutes=ago) for ago in range(count - 1, -1, -1)]
    rows = MinuteStat.objects.filter(queue_id=queue_id, minute__range=(wanted[0], last))
    known = {row["minute"]: row for row in rows.values("minute", *COUNTS, *TIMES)}
    quiet = {**dict.fromkeys(COUNTS, 0), **dict.fromkeys(TIMES)}
    return [known.get(minute, {"minute": minute, **quiet}) for minute in wanted]
