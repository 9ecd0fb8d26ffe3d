"""Hand out summaries of failures that a model is to put into words, one at a time, and keep what it says."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Wanted:
    """A summary without words for its groups; `asked_at` is shown when they are kept."""

    queue_id: UUID
    asked_at: datetime
    fingerprint: str
    window_hours: int
    failures: str  # JSON

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The largest first."""
        return list(json.loads(self.failures))


_turn = Statement.beside(__file__, bool, "prose_turn")
_due = Statement.beside(__file__, Wanted, "prose_due")
_keep: Statement[str] = Statement.beside(__file__, lambda state: state)


def wanted_steps(*, calls_max: int) -> Steps[Wanted | None]:
    """The summary that has waited longest, which nobody else gets within the hour, whatever becomes of it.

    None where all are told of, `calls_max` were handed out in the last hour, or somebody else is being handed one. Two
    statements: the second counts what whoever had the turn before was handed.
    """
    if not (yield from _turn.ask())[0]:
        return None
    rows = yield from _due.ask(calls_max=calls_max)
    return rows[0] if rows else None


wanted = Verb(wanted_steps)


def keep(one: Wanted, *, text: str | None, model: str) -> str | None:
    """Keep the words, or None that there were none; answers the state, None where they came too late."""
    states = _keep(
        queue_id=one.queue_id, asked_at=one.asked_at, fingerprint=one.fingerprint, text=text, model=model[:128]
    )
    return states[0] if states else None
