"""A remote worker's claim: queue by queue in turn, behind gates where there are any, never more than its slots."""

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from apps.jobs.engine.claim import Claim, Claimed, Hint
from apps.jobs.engine.claim_in_turn import claim_gated_in_turn, claim_in_turn
from apps.jobs.engine.gates import gates
from apps.jobs.engine.ready import NOWHERE, PROBED, STEPS, ready, ready_aimed, ready_among
from apps.runtime.supervisor.turns import AT_ONCE, Clocks
from apps.workers.models import Session

TRIES = 3  # where others were at the same rows or gates
ROUNDS = 4  # through the queues of a worker that serves many
KNOWN = 4096  # sessions whose turns are remembered here


@dataclass(slots=True)
class Taken:
    """What a claim got, and how many more it saw. `token_in`: seconds until a queue with a rate admits another."""

    jobs: list[Claim] = field(default_factory=list)
    more: int = 0
    token_in: float = math.inf


class _Round(Clocks):
    """What one session's queues have had, as far as this process has seen; another begins with even turns."""

    def __init__(self) -> None:
        super().__init__()
        self.cursor = self.aimed_cursor = NOWHERE
        self.gated = False  # some of its queues have limits
        self.plain_empty = False  # the last claim from those without found nothing
        self.odd = False  # whose turn it was when there was one slot for both kinds

    def next(self, session_id: UUID, queues: Sequence[UUID], limit: int) -> tuple[Sequence[UUID], bool]:
        """The queues to claim from, and whether there may be more: all, or the next few that have work."""
        if len(queues) <= AT_ONCE:
            return queues, False
        few = max(1, min(AT_ONCE, limit))
        found = _ready(self.cursor, queues, few)
        more = len(found) == few
        if not more and self.cursor != NOWHERE:
            found += [one for one in _ready(NOWHERE, queues, few - len(found)) if one <= self.cursor]
        self.cursor = found[-1] if found else NOWHERE
        return found + [one for one in self._aimed(session_id) if one in queues and one not in found], more

    def _aimed(self, session_id: UUID) -> list[UUID]:
        """Queues with jobs for the worker of a session, served or not; from the start again where that was the end."""
        found = ready_aimed(session_id=session_id, after=self.aimed_cursor, limit=AT_ONCE)
        self.aimed_cursor = found[-1] if len(found) == AT_ONCE else NOWHERE
        return found

    def share(self, limit: int) -> int:
        """Of the room, that of queues with limits, as a local worker has it."""
        if not self.gated:
            return 0
        if self.plain_empty:
            return limit
        self.odd = not self.odd
        return (limit + self.odd) // 2


_rounds: OrderedDict[UUID, _Round] = OrderedDict()
_turning = threading.Lock()


def take(*, session: Session, queues: Mapping[UUID, int], types: Sequence[str], limit: int) -> Taken:
    """Claim up to `limit` jobs of these queues, each with its weight, for a session."""
    taken = Taken()
    turns = _round_of(session.pk)
    offers: Mapping[str, int | None] = dict.fromkeys(types)
    for _ in range(ROUNDS):
        chosen, more = turns.next(session.pk, list(queues), limit - len(taken.jobs))
        share = turns.share(limit - len(taken.jobs))
        if share:
            _take_gated(session.pk, turns, queues, chosen, offers, share, taken)
        _take_plain(session.pk, turns, queues, chosen, offers, limit - len(taken.jobs), taken)
        if turns.gated and not taken.jobs and share < limit:
            _take_gated(session.pk, turns, queues, chosen, offers, limit, taken)
        if taken.jobs or not more:
            break
    return taken


def _take_plain(
    session_id: UUID,
    turns: _Round,
    queues: Mapping[UUID, int],
    chosen: Sequence[UUID],
    offers: Mapping[str, int | None],
    limit: int,
    taken: Taken,
) -> None:
    if not chosen or limit <= 0:
        return
    for _ in range(TRIES):
        got: Claimed = claim_in_turn(
            session_id=session_id, queues=chosen, offers=offers, limit=limit, hint=Hint(ahead=turns.ahead())
        )
        if not got.contended:
            break
    turns.see([job.queue_id for job in got.jobs], queues)
    turns.plain_empty = not got.jobs
    turns.gated = got.gated or (len(queues) > AT_ONCE and turns.gated)
    taken.jobs += got.jobs
    taken.more += got.candidates - len(got.jobs)


def _take_gated(
    session_id: UUID,
    turns: _Round,
    queues: Mapping[UUID, int],
    chosen: Sequence[UUID],
    offers: Mapping[str, int | None],
    limit: int,
    taken: Taken,
) -> None:
    """Where there are limits: shared out by weight among the queues that admit any, those first that have had least."""
    found = gates(queues=list(chosen), types=list(offers), session_id=session_id)
    taken.token_in = min((one.wait_seconds for one in found if one.wait_seconds > 0), default=math.inf)
    ahead = turns.ahead()
    open_now = sorted((one.queue_id for one in found if one.wait_seconds <= 0), key=lambda one: ahead.get(one, 0.0))
    weight, left, jobs = sum(queues[one] for one in open_now), limit, []
    for queue_id in open_now:
        share = math.ceil(left * queues[queue_id] / weight)
        weight -= queues[queue_id]
        for _ in range(TRIES if share > 0 else 0):
            got = claim_gated_in_turn(session_id=session_id, queue_id=queue_id, offers=offers, limit=share)
            jobs += got.jobs
            taken.more += len(got.jobs)  # how many more its gate admits is not told
            left -= len(got.jobs)
            if not got.contended:
                break
    turns.see([job.queue_id for job in jobs], queues)
    taken.jobs += jobs


def _ready(after: UUID, queues: Sequence[UUID], limit: int) -> list[UUID]:
    """The next of these queues that have something queued, in the order of their ids; see ready_after."""
    if len(queues) <= PROBED:
        return ready_among(after=after, queues=list(queues), limit=limit)
    ours, steps = frozenset(queues), limit
    found: list[UUID] = []
    while len(found) < limit:
        passed = ready(after=after, limit=steps)
        found += [queue_id for queue_id in passed if queue_id in ours]
        if len(passed) < steps:
            break
        after, steps = passed[-1], STEPS
    return found[:limit]


def _round_of(session_id: UUID) -> _Round:
    with _turning:
        turns = _rounds.pop(session_id, None) or _Round()
        _rounds[session_id] = turns
        if len(_rounds) > KNOWN:
            _rounds.popitem(last=False)
        return turns
