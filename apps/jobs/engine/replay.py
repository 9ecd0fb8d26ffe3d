"""Dead letters run again, as new generations of the same jobs; their ledger stays."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from apps.errors import Gone, KeyTaken, NotReplayable
from apps.jobs.engine.enqueue_parents import day_of
from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Replayed:
    job_id: UUID
    queue_id: UUID
    state: str


@dataclass(frozen=True, slots=True)
class _Held:
    job_id: UUID
    queue_id: UUID
    holder: UUID | None


@dataclass(frozen=True, slots=True)
class _Descendant:
    job_id: UUID
    state: str | None
    parents: list[UUID]


_replay = Statement.beside(__file__, Replayed)
_hold = Statement.beside(__file__, _Held, "replay_hold")
_family = Statement.beside(__file__, _Descendant, "replay_family")
_revive = Statement.beside(__file__, lambda job_id: job_id, "replay_revive")
_reopen = Statement.beside(__file__, lambda job_id: job_id, "replay_reopen")


def replay_steps(*, delays_ms: Mapping[UUID, int], revive_descendants: bool = False) -> Steps[list[Replayed]]:
    """Replay dead letters (id → milliseconds until they may run).

    Jobs that are no dead letters (any more) are missing from the answer. Raises KeyTaken naming the
    live job that holds a unique key, NotReplayable naming cancelled descendants that would be left
    behind (unless they are revived too), Gone when such a descendant has been pruned.
    """
    held: list[_Held] = yield from _hold.ask(ids=sorted(delays_ms))
    for row in held:
        if row.holder:
            raise KeyTaken(f"Job {row.holder} holds the unique key of {row.job_id}.", job_id=str(row.holder))
    ids = [row.job_id for row in held]
    if not ids:
        return []
    family: list[_Descendant] = yield from _family.ask(ids=ids)
    _refuse_orphans(family, revive_descendants)
    rows = yield from _replay.ask(ids=ids, delays_ms=[delays_ms[job_id] for job_id in ids])
    yield from _reopen.ask(ids=ids)
    if family:
        yield from _revive_all(ids, family)
    return rows


def _refuse_orphans(family: list[_Descendant], revive_descendants: bool) -> None:  # noqa: FBT001
    left = [str(one.job_id) for one in family]
    if left and not revive_descendants:
        raise NotReplayable(f"Cancelled descendants would be left behind: {', '.join(left)}.", descendants=left)
    pruned = [str(one.job_id) for one in family if one.state is None]
    if pruned:
        raise Gone(f"Descendants have been pruned: {', '.join(pruned)}.", descendants=pruned)


def _revive_all(ids: list[UUID], family: list[_Descendant]) -> Steps[None]:
    descendants = [one.job_id for one in family]
    yield from _revive.ask(ids=descendants, parents=[*ids, *descendants], since=min(map(day_of, descendants)))


replay = Verb(replay_steps)
