"""What must always hold, one statement each: it names the offenders. docs/architecture.md says what keeps it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
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
    "parent_knows": "A live job that others wait for wakes them when it ends: it says that it has dependents.",
    "no_circle": "No job waits for itself, not even over others.",
    "blocked_can_wake": "A job is blocked only while some parent can still end.",
    "events_are_dense": "A project's events are numbered without gaps, up to its head.",
    "tick_has_one_job": "A tick that fired has one job of its own.",
    "published_once": "What stages of a workflow published is one job each, and of that workflow.",
    "batch_is_followed": "A batch is followed once, when its jobs have ended, by a job of its own.",
    "bound_runs_there": "What waits for one worker runs on no other.",
    "reserved_both_ways": "A reserved worker runs its workflow alone, and that runs nowhere else.",
    "live_can_leave": "No live job is in a state that no verb can take it out of.",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """An invariant that does not hold, and the first offenders."""

    name: str
    says: str
    ids: list[str]


_ways = Statement.beside(__file__, lambda child, parent: (child, parent), "invariants_no_circle")
_statements: dict[str, Statement[str]] = {
    name: Statement.beside(__file__, str, f"invariants_{name}") for name in SAYS if name != "no_circle"
}


def broken() -> list[Broken]:
    """Check them all; an empty list is what should come back."""
    leavable = [state.value for state in LIVE if any(old == state for old, _ in MOVES)]
    more: dict[str, dict[str, Any]] = {"live_can_leave": {"leavable": leavable}}
    found = {name: check(limit=LIMIT, **more.get(name, {})) for name, check in _statements.items()}
    found["no_circle"] = circles(_ways())[:LIMIT]
    return [Broken(name, SAYS[name], ids) for name, ids in found.items() if ids]


def circles(ways: Iterable[tuple[str, str]]) -> list[str]:
    """Those who, of all who wait, stand in a circle: whoever waits for nobody is left out, again and again, from both ends."""
    above: dict[str, set[str]] = defaultdict(set)
    below: dict[str, set[str]] = defaultdict(set)
    for child, parent in ways:
        above[child].add(parent)
        below[parent].add(child)
    left = above.keys() & below.keys()
    _peel(left, above, below)
    _peel(left, below, above)
    return sorted(left)


def _peel(left: set[str], ahead: Mapping[str, set[str]], behind: Mapping[str, set[str]]) -> None:
    """Take out whoever has nobody ahead that is left, and then those behind who had only them."""
    free = [one for one in left if not ahead[one] & left]
    while free:
        gone = free.pop()
        left.discard(gone)
        free += [one for one in behind[gone] & left if not ahead[one] & left]
