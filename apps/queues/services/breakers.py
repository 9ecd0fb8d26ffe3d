"""Open and close the breaker of a queue: by hand, by what its jobs came to, and by the one that tries."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.audit.record import SYSTEM, Actor, spoken
from apps.errors import BadInput, NotFound
from apps.queues.engine.clock import clock
from apps.queues.engine.tell import tell
from apps.queues.models import BreakerState, Gate, Queue
from apps.queues.services import gates
from apps.queues.services.recorded import hold, recorded

FIELDS = ("breaker_window", "breaker_trip", "breaker_share", "breaker_cooldown_seconds")
COOLDOWN = 60  # seconds, of a queue that names none
LONGEST = 3600  # seconds to which a cooldown grows, unless it is longer from the start
TRIPS_MAX = 10_000  # counted no further


@transaction.atomic
def open_breaker(*, queue: Queue, actor: Actor, until: datetime | None = None) -> Queue:
    """Let no claim that begins from now on take a job of this queue until a time, and then one, to try.

    Running jobs go on. Without `until` it is open for one cooldown; opening an open one changes its end.
    """
    held = hold(queue.pk)
    now = clock()[0]
    if until is not None and until <= now:
        raise BadInput.at("#/until", "This lies in the past.")
    gate = _gate(held)
    _open(held, gate, actor, until=until or now + _cooldown(held, 1), trips=gate.trips)
    return held


@transaction.atomic
def close_breaker(*, queue: Queue, actor: Actor) -> Queue:
    """Let workers claim as before, and count failures anew; does nothing to a breaker that is closed."""
    held = hold(queue.pk)
    close(held, actor)
    return held


@transaction.atomic
def trip_breaker(*, queue_id: UUID, since: datetime, failures: int) -> bool:
    """Open a breaker because so many jobs failed that started after `since`; answers whether it was this call.

    It was not where somebody opened it, closed it or changed its rules after the failures were counted.
    """
    try:
        held = hold(queue_id)
    except NotFound:
        return False
    gate = _gate(held)
    if held.breaker_since != since or gate.breaker != BreakerState.CLOSED:
        return False
    _open_again(held, gate, failures=failures)
    return True


@transaction.atomic
def judge_probe(*, queue_id: UUID, probe: tuple[UUID, int], passed: bool | None) -> bool:
    """Close a breaker whose probe succeeded, open it anew where it failed; answers whether a job may start now.

    A probe that says nothing (None: lost, released, cancelled …) makes room for the next. One that is no longer the
    gate's changes nothing.
    """
    try:
        held = hold(queue_id)
    except NotFound:
        return False
    gate = _gate(held)
    if (gate.probe_job, gate.probe_fence) != probe:
        return False
    if passed:
        close(held, SYSTEM)
    elif passed is None:
        Gate.objects.filter(queue=held, shard=0).update(probe_job=None, probe_fence=None)
    else:
        _open_again(held, gate, failures=1)
    return passed is not False


def check(queue: Queue, fields: Mapping[str, Any]) -> None:
    """Raise BadInput where these fields would leave the queue with a breaker that is not whole."""
    window, trip, share, cooldown = (fields.get(name, getattr(queue, name)) for name in FIELDS)
    if window is None:
        extra = [name for name in FIELDS if fields.get(name, getattr(queue, name)) is not None]
        if extra:
            raise BadInput.at(f"#/{extra[0]}", "Say the window too, or leave all of the breaker empty.")
    elif trip is None and share is None:
        raise BadInput.at("#/breaker_trip", "Say how many failures open it, or which share.")
    elif trip is not None and trip > window >= 1:
        raise BadInput.at("#/breaker_trip", f"The window holds {window} outcomes.")
    elif cooldown is None:
        raise BadInput.at("#/breaker_cooldown_seconds", "Say for how long it stays open.")


def begin(queue: Queue) -> None:
    """Count from now on: what started before says nothing any more. The caller holds the queue's row."""
    queue.breaker_since = clock()[0]
    Queue.objects.filter(pk=queue.pk).update(breaker_since=queue.breaker_since)


def close(queue: Queue, actor: Actor) -> None:
    """Close a breaker that is not closed, and with it the gate of a queue without other limits."""
    gate = _gate(queue)
    if gate.breaker == BreakerState.CLOSED:
        return
    begin(queue)
    closed = {"reopens_at": None, "trips": 0, "probe_job": None, "probe_fence": None}
    Gate.objects.filter(queue=queue, shard=0).update(breaker=BreakerState.CLOSED, **closed)
    gates.settle(queue)  # a probe that still runs may stand on a shard that had no place of its own
    _tell(queue, actor, "closed", trips=gate.trips)
    recorded(queue, actor, "queue.breaker_close", before=_facts(gate), after=_facts(Gate()))


def _open_again(queue: Queue, gate: Gate, *, failures: int) -> None:
    """For longer each time."""
    trips = min(gate.trips + 1, TRIPS_MAX)
    _open(queue, gate, SYSTEM, until=clock()[0] + _cooldown(queue, trips), trips=trips, failures=failures)


def _open(queue: Queue, gate: Gate, actor: Actor, *, until: datetime, trips: int, failures: int | None = None) -> None:
    """A gate that comes for a breaker need not wait until what runs is counted: that is not on its charge."""
    before = _facts(gate)
    gate.breaker, gate.reopens_at, gate.trips = BreakerState.OPEN, until, trips
    opened = {"breaker": gate.breaker, "reopens_at": until, "trips": trips, "probe_job": None, "probe_fence": None}
    Gate.objects.update_or_create(queue=queue, shard=0, defaults=opened)
    _tell(queue, actor, "opened", until=until, failures=failures, trips=trips)
    recorded(queue, actor, "queue.breaker_open", before=before, after=_facts(gate))


def _cooldown(queue: Queue, trips: int) -> timedelta:
    base = queue.breaker_cooldown_seconds or COOLDOWN
    return timedelta(seconds=min(base * 2 ** min(trips - 1, 20), max(LONGEST, base)))


def _gate(queue: Queue) -> Gate:
    """Where the breaker's state lies, held; that of a queue without a gate is closed."""
    first = Gate.objects.select_for_update(no_key=True).filter(queue=queue, shard=0).first()
    return first or Gate(queue=queue, shard=0)


def _facts(gate: Gate) -> dict[str, Any]:
    return {
        "breaker": str(gate.breaker),
        "reopens_at": spoken(gate.reopens_at) if gate.reopens_at else None,
        "trips": gate.trips,
    }


def _tell(queue: Queue, actor: Actor, what: str, *, trips: int, **facts: Any) -> None:
    said = {"until": None, "failures": None, **facts}
    tell(
        project_id=queue.project_id, kind=f"queue.breaker_{what}", queue_id=queue.pk, by=actor.name,
        window=queue.breaker_window, trips=trips, **said,
    )  # fmt: skip
