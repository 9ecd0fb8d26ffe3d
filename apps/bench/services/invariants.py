"""What must always hold, one statement each: it names the offenders. docs/architecture.md says what keeps it."""

from dataclasses import dataclass
from typing import Any

from apps.jobs.states import LIVE, MOVES
from apps.sql import Statement

LIMIT = 100  # offenders named per invariant

SAYS = {
    "one_shelf": "No job stands on two shelves.",
    "one_entry_per_fence": "The ledger has one row per job and fence.",
    "running_is_held": "A live job runs if and only if a session holds it, with a start, a deadline and a fence.",
    "gate_counts_all": "A gate counts at least the jobs that run on its charge.",
    "cap_holds": "No attempt began while its queue's cap was used up.",
    "key_holds": "No more jobs of a key than its queue allows run, or may be claimed.",
    "one_success": "No job succeeded twice in one generation.",
    "final_is_accounted": "Every finished job has an end, and a ledger row for the last fence it ran under.",
    "pending_counts_parents": "A job waits for exactly its parents that have not ended.",
    "blocked_can_wake": "A job is blocked only while some parent can still end.",
    "events_are_dense": "A project's events are numbered without gaps, up to its head.",
    "tick_has_one_job": "A tick that fired has one job of its own.",
    "live_can_leave": "No live job is in a state that no verb can take it out of.",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """An invariant that does not hold, and the first offenders."""

    name: str
    says: str
    ids: list[str]


_statements: dict[str, Statement[str]] = {name: Statement.beside(__file__, str, f"invariants_{name}") for name in SAYS}


def broken() -> list[Broken]:
    """Check them all; an empty list is what should come back."""
    leavable = [state.value for state in LIVE if any(old == state for old, _ in MOVES)]
    more: dict[str, dict[str, Any]] = {"live_can_leave": {"leavable": leavable}}
    found = {name: check(limit=LIMIT, **more.get(name, {})) for name, check in _statements.items()}
    return [Broken(name, SAYS[name], ids) for name, ids in found.items() if ids]
