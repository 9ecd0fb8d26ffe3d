"""Let jobs of concurrency keys through: no more of one key run, or may be claimed, than its queue allows.

A job with a key is queued out of the claim's sight (`key_full`). Only this verb brings it into sight,
one key at a time, so the claim need know nothing of keys and walks over no job that may not run. It
is called when jobs with keys are queued and when they end, after those have committed; a loop finds
whatever was missed.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from apps.jobs.engine.ready import NOWHERE
from apps.sql import Statement, Steps, Verb

KEYS = 50  # whose turns one transaction holds
LIMIT = 1000  # jobs of a key that are let through at once, where its queue allows more

type Key = tuple[UUID, str]  # a queue's


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many jobs of a queue may be claimed now that could not before."""

    queue_id: UUID
    jobs: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A key whose jobs wait, at this step of a walk; `due`: some of them need not."""

    queue_id: UUID
    key: str
    step: int
    due: bool


_turn = Statement.beside(__file__, lambda nothing: None, "admit_turn")
_admit = Statement.beside(__file__, Admitted)
admit_due = Statement.beside(__file__, Waiting, "admit_due")
START: Key = (NOWHERE, "")


def admit_steps(*, keys: Collection[Key]) -> Steps[list[Admitted]]:
    """Let through what may be of at most KEYS keys, in a transaction that waits for nothing but their turns."""
    pairs = {"queue_ids": [queue_id for queue_id, _ in keys], "keys": [key for _, key in keys]}
    yield from _turn.ask(**pairs)
    return (yield from _admit.ask(**pairs, limit=LIMIT))


admit = Verb(admit_steps)


def batches(keys: Collection[Key]) -> Iterator[list[Key]]:
    """As many keys as one transaction may hold the turns of; each once."""
    each = list(dict.fromkeys(keys))
    return (each[place : place + KEYS] for place in range(0, len(each), KEYS))
