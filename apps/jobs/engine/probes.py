"""What became of the jobs that breakers let through to try."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from apps.jobs.states import Outcome
from apps.sql import Statement, Steps, Verb

FAILURES = frozenset({Outcome.RETRYABLE_ERROR, Outcome.PERMANENT_ERROR, Outcome.TIMEOUT, Outcome.CRASHED})
AHEAD = timedelta(days=1)  # for clocks that differ


@dataclass(frozen=True, slots=True)
class Probe:
    """A job that tried whether a breaker can close, and ended. No outcome: nothing is known of it any more."""

    queue_id: UUID
    job_id: UUID
    fence: int
    outcome: str | None

    @property
    def passed(self) -> bool | None:
        """None where it says nothing of what the queue's jobs depend on: lost, released, snoozed, cancelled."""
        if self.outcome == Outcome.SUCCESS:
            return True
        return False if self.outcome in FAILURES else None


@dataclass(frozen=True, slots=True)
class _Out:
    shut: int
    trying: int


_out = Statement.beside(__file__, _Out, "probes_out")
_probes = Statement.beside(__file__, Probe)


def probes_steps() -> Steps[tuple[bool, list[Probe]]]:
    """Whether any breaker is not closed, and the probes that have ended."""
    [out] = yield from _out.ask()
    if not out.trying:
        return bool(out.shut), []
    return True, (yield from _probes.ask(ends=datetime.now(UTC) + AHEAD))


probes = Verb(probes_steps)
