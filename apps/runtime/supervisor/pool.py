"""Slots of a worker, and what they are for: a pool of its own is never eaten up by other work."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps import handlers
from apps.errors import BadInput

DEFAULT = "default"
TYPE = "type:"
_SPEC = re.compile(r"(?P<name>[a-z][a-z0-9_-]{0,62}):(?P<slots>[0-9]{1,5})=(?P<items>.+)")


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """What --pool says. `items` are queues (a name, or organization/project/queue), or job types as type:NAME."""

    name: str
    slots: int
    items: tuple[str, ...]

    @property
    def types(self) -> frozenset[str]:
        return frozenset(item.removeprefix(TYPE) for item in self.items if item.startswith(TYPE))

    @property
    def queues(self) -> frozenset[str]:
        return frozenset(item for item in self.items if not item.startswith(TYPE))


def parse(texts: Sequence[str]) -> tuple[PoolSpec, ...]:
    """Read `media:8=transcode,package` or `mail:1=type:mail.send`. Raises BadInput for what is neither."""
    specs = tuple(_parse(text.strip()) for text in texts if text.strip())
    names = [spec.name for spec in specs]
    for spec in specs:
        if spec.name == DEFAULT or names.count(spec.name) > 1:
            raise BadInput.at("--pool", f"There is a pool {spec.name!r} already.")
    return specs


def _parse(text: str) -> PoolSpec:
    found = _SPEC.fullmatch(text)
    if found is None:
        raise BadInput.at("--pool", f"{text!r} is not of the form name:slots=queue,queue or name:slots=type:TYPE.")
    spec = PoolSpec(
        found["name"], int(found["slots"]), tuple(item.strip() for item in found["items"].split(",") if item.strip())
    )
    if not 1 <= spec.slots <= 10_000:
        raise BadInput.at("--pool", f"{spec.name}: slots must be between 1 and 10000.")
    if not spec.items or TYPE in spec.items or bool(spec.types) == bool(spec.queues):
        raise BadInput.at("--pool", f"{spec.name}: name queues or types, and not both.")
    return spec


class Pool:
    """One set of slots. The default pool takes what no other one is for."""

    def __init__(self, name: str, slots: int) -> None:
        self.name, self.slots = name, slots
        self.held = 0
        self.gated = False  # some of its queues have limits
        self.empty = False  # its last claim found nothing
        self.has_work = asyncio.Event()  # something may be claimable
        self.has_room = asyncio.Event()  # a slot became free


class Bells:
    """An event of each pool, rung together."""

    def __init__(self, events: Sequence[asyncio.Event]) -> None:
        self.events = events

    def set(self) -> None:
        for event in self.events:
            event.set()


def queues_of(spec: PoolSpec | None, specs: Sequence[PoolSpec], served: Mapping[UUID, str]) -> list[UUID]:
    """The queues a pool claims from; the default pool's `spec` is None. Pools of types claim from every queue."""
    if spec is None:
        taken = [name for other in specs for name in other.queues]
        return [queue_id for queue_id, path in served.items() if not _names(path, taken)]
    if spec.types:
        return list(served)
    return [queue_id for queue_id, path in served.items() if _names(path, spec.queues)]


def types_of(spec: PoolSpec | None, specs: Sequence[PoolSpec], offered: Collection[str]) -> list[str]:
    """The types a pool claims: types that have a pool go nowhere else."""
    if spec is not None and spec.types:
        wanted = handlers.with_aliases(sorted(spec.types))
        return [name for name in offered if name in wanted]
    taken = handlers.with_aliases([name for other in specs for name in other.types])
    return [name for name in offered if name not in taken]


def strangers(specs: Sequence[PoolSpec], served: Mapping[UUID, str], offered: Collection[str]) -> list[str]:
    """What pools are for and this worker does not serve."""
    queues = [
        name for spec in specs for name in spec.queues if not any(_names(path, [name]) for path in served.values())
    ]
    return queues + [name for spec in specs for name in spec.types if name not in offered]


def _names(path: str, names: Collection[str]) -> bool:
    """Whether one of the names means this queue: by its whole path or by its last part."""
    return path in names or path.rpartition("/")[2] in names
