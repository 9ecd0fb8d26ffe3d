"""Deal a queue's limits to its gate: as many rows as it has shards, whose caps add up to the queue's."""

from apps.errors import InUse
from apps.queues.engine.moment import moment
from apps.queues.models import BreakerState, Gate, Queue


def settle(queue: Queue) -> None:
    """Make the gate what the queue's fields say; the caller holds the queue's row in a transaction.

    A gate that is new admits nothing until whatever began before it has ended and what runs is counted
    (the loop `gates`). Raises InUse when the number of shards changes while jobs run on their charge.
    """
    gates = list(Gate.objects.select_for_update(no_key=True).filter(queue=queue).order_by("shard"))
    shards = _shards(queue, gates)
    if not shards:
        Gate.objects.filter(queue=queue).delete()
    elif not gates:
        new = moment()[0]
        Gate.objects.bulk_create(_gate(queue, shard, cap, new) for shard, cap in enumerate(_deal(queue, shards)))
    elif len(gates) != shards:
        _deal_anew(queue, gates, shards)
    else:
        after = _counts_from(queue, gates)
        for gate, cap in zip(gates, caps(queue.max_concurrency, [gate.in_flight for gate in gates]), strict=True):
            Gate.objects.filter(queue=queue, shard=gate.shard).update(cap=cap, opens_after=after)


def _shards(queue: Queue, gates: list[Gate]) -> int:
    """How many rows there are to be; none without limits. The tokens of a rate lie in one bucket, so there is one."""
    if queue.rate_per_second is not None:
        return 1
    if queue.max_concurrency is not None:
        return queue.shards
    return 1 if gates and gates[0].breaker != BreakerState.CLOSED else 0


def _counts_from(queue: Queue, gates: list[Gate]) -> int | None:
    """A gate without a cap need not have counted everything, a breaker's has not: it opens anew with its first cap."""
    if gates[0].cap is None and queue.max_concurrency is not None:
        return moment()[0]
    return gates[0].opens_after


def _gate(queue: Queue, shard: int, cap: int | None, after: int | None) -> Gate:
    return Gate(queue=queue, shard=shard, cap=cap, opens_after=after, tokens=queue.burst or 1)


def _deal(queue: Queue, shards: int) -> list[int | None]:
    return caps(queue.max_concurrency, [0] * shards)


def _deal_anew(queue: Queue, gates: list[Gate], shards: int) -> None:
    """Other shards: all rows are held, so nothing is being admitted; nothing may run on the charge of a cap that stays."""
    first, running = gates[0], sum(gate.in_flight for gate in gates)
    if running and first.cap is not None and queue.max_concurrency is not None:
        raise InUse("The number of shards can change when nothing of this queue runs.", counts={"running": running})
    Gate.objects.filter(queue=queue).delete()
    after = _counts_from(queue, gates)
    made = [_gate(queue, shard, cap, after) for shard, cap in enumerate(_deal(queue, shards))]
    most = max(gate.admitted for gate in gates)
    for gate in made:
        gate.admitted = most  # no shard has had less than its namesake
    for name in ("in_flight", "tokens", "refilled_at", "breaker", "reopens_at", "trips", "probe_job", "probe_fence"):
        setattr(made[0], name, getattr(first, name))
    Gate.objects.bulk_create(made)


def caps(cap: int | None, in_flight: list[int]) -> list[int | None]:
    """Split a cap so that the parts add up to it and their free places to what is free of the whole.

    A part below what it has in flight has no free place; it gets none while another could still use it.
    """
    if cap is None:
        return [None] * len(in_flight)
    free = cap - sum(in_flight)
    if free >= 0:
        each, more = divmod(free, len(in_flight))
        return [running + each + (shard < more) for shard, running in enumerate(in_flight)]
    left, parts = cap, []
    for running in in_flight:
        parts.append(min(running, left))
        left -= parts[-1]
    return [*parts]
