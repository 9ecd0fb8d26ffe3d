"""Dead letters run again, as new generations of the same jobs; their ledger stays."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.errors import Conflict, KeyTaken, NotReplayable
from apps.jobs.engine.aim import aim_steps
from apps.jobs.engine.enqueue_parents import day_of
from apps.jobs.engine.left_behind import Descendant, left_behind_steps
from apps.sql import Statement, Steps, Verb


@dataclass(frozen=True, slots=True)
class Replayed:
    """Where a job now waits; without a `state` it could not come back: its unique key is taken."""

    job_id: UUID
    queue_id: UUID
    state: str | None
    unique_key: str | None


class Unheld(Exception):
    """What would come back stands in these workflows too; they are to be held before any job."""

    def __init__(self, workflows: set[UUID]) -> None:
        super().__init__(workflows)
        self.workflows = workflows


_hold = Statement.beside(__file__, lambda job_id: job_id, "replay_hold")
_parents = Statement.beside(__file__, lambda job_id: job_id, "replay_parents")
_replay = Statement.beside(__file__, Replayed)
_revive = Statement.beside(__file__, Replayed, "replay_revive")
_reopen = Statement.beside(__file__, lambda job_id: job_id, "replay_reopen")
_holders = Statement.beside(__file__, lambda queue_id, unique_key, job_id, state: job_id, "enqueue_holders")


def replay_steps(
    *,
    delays_ms: Mapping[UUID, int],
    payload: str | None = None,
    revive_descendants: bool = False,
    held: Collection[UUID] = (),
) -> Steps[list[Replayed]]:
    """Replay dead letters (id → milliseconds until they may run), with another payload (JSON text) if one is given.

    Jobs that are no dead letters (any more) are missing from the answer. Raises KeyTaken naming the
    live job that holds a unique key, and NotReplayable naming the cancelled descendants that would be
    left behind (unless they are revived too) or that have been pruned; Unheld where some of those stand in
    workflows that the caller has not `held` since before any job.
    """
    ids: list[UUID] = yield from _hold.ask(ids=sorted(delays_ms))
    if not ids:
        return []
    yield from _parents.ask(ids=ids)
    left = yield from left_behind_steps(ids=ids)
    _refuse_orphans(left, revive_descendants)
    _refuse_unheld(left, held)
    delays = [delays_ms[job_id] for job_id in ids]
    rows: list[Replayed] = yield from _replay.ask(ids=ids, delays_ms=delays, payload=payload)
    yield from _refuse_taken(rows)
    revived = [one.job_id for one in left]
    if revived:
        yield from _refuse_taken((yield from _revive.ask(ids=revived, since=min(map(day_of, revived)))))
    yield from _reopen.ask(ids=[*ids, *revived])
    yield from aim_steps(ids=[*ids, *revived])
    return rows


def _refuse_orphans(left: Sequence[Descendant], revive_descendants: bool) -> None:  # noqa: FBT001
    names = [str(one.job_id) for one in left]
    if names and not revive_descendants:
        raise NotReplayable(f"Cancelled descendants would be left behind: {', '.join(names)}.", descendants=names)
    pruned = [str(one.job_id) for one in left if one.state is None]
    if pruned:
        raise NotReplayable(f"Descendants have been pruned: {', '.join(pruned)}.", descendants=pruned)


def _refuse_unheld(left: Sequence[Descendant], held: Collection[UUID]) -> None:
    missing = {one.workflow_id for one in left if one.workflow_id} - set(held)
    if missing:
        raise Unheld(missing)


def _refuse_taken(rows: Sequence[Replayed]) -> Steps[None]:
    lost = [row for row in rows if row.state is None]
    if not lost:
        return
    holders: list[UUID] = yield from _holders.ask(
        queue_ids=[row.queue_id for row in lost], unique_keys=[row.unique_key for row in lost]
    )
    if not holders:
        raise Conflict("The holder of a unique key has just ended; try again.")
    raise KeyTaken(f"Job {holders[0]} holds the unique key of {lost[0].job_id}.", job_id=str(holders[0]))


replay = Verb(replay_steps)
