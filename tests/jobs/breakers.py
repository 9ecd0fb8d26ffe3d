"""What tests of breakers do: set the rules, let jobs fail, look as the loop does, move time."""

import math
from datetime import timedelta

from apps.audit.models import Entry, Outbox
from apps.jobs import services
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.engine.outcomes import Watch
from apps.jobs.engine.probes import probes
from apps.queues.models import Gate, Queue
from apps.queues.services import queues
from tests.acts import OFFERS, enqueue, finish, take
from tests.jobs.looks import ANN, run

FAIL = "retryable_error"


def rules(queue, **fields):
    """Give the queue a breaker: two failures of the last ten, and 60 seconds, unless said."""
    asked = {"window": 10, "trip": 2, "share": None, "cooldown_seconds": 60} | fields
    queues.update(queue=queue, actor=ANN, **{f"breaker_{name}": value for name, value in asked.items()})


def end(session, queue, *outcomes):
    """Run a job for each of these outcomes, in this order."""
    for outcome in outcomes:
        enqueue(queue)
        [taken] = take(session, queue, limit=1) or admitted(session, queue)
        finish(session, taken, outcome=outcome)


def look(watch=None):
    """One turn of the loop; answers the queues whose breakers it opened."""
    tripped = [one for one in (watch or Watch()).look() if services.trip_breaker(one)]
    for probe in probes()[1]:
        services.judge_probe(probe)
    return [one.queue_id for one in tripped]


def admitted(session, queue, *, limit=10):
    return claim_gated(session_id=session.pk, queue_id=queue.pk, offers=OFFERS, limit=limit).jobs


def gate(queue):
    return Gate.objects.filter(queue=queue, shard=0).first()


def state(queue):
    found = gate(queue)
    return found.breaker if found else None


def cool(queue):
    """Its cooldown is over."""
    run("UPDATE queues_gate SET reopens_at = clock_timestamp() WHERE queue_id = %s AND breaker = 'open'", [queue.pk])


def cooldown(queue):
    """For how many seconds it is open from its opening on, as the audit has it."""
    entry = Entry.objects.filter(target_id=str(queue.pk), action="queue.breaker_open").latest("id")
    return math.ceil((gate(queue).reopens_at - entry.at) / timedelta(seconds=1))


def told(queue):
    """What the log is told of breakers, in order: which way, and the data."""
    facts = Outbox.objects.filter(kind__startswith="queue.breaker_", queue_id=queue.pk).order_by("id")
    return [(fact.kind.removeprefix("queue.breaker_"), fact.data) for fact in facts]


def fresh(queue):
    return Queue.objects.get(pk=queue.pk)


def open_by_hand(queue, **fields):
    return services.set_breaker(queue=queue, actor=ANN, state="open", **fields)


def close_by_hand(queue):
    return services.set_breaker(queue=queue, actor=ANN, state="closed")


def let_try(session, queue):
    """The cooldown is over, and one job is let through to try; answers that."""
    cool(queue)
    enqueue(queue)
    [probe] = admitted(session, queue)
    return probe


def try_once(session, queue, outcome):
    """One job tries and ends like this, and the loop looks."""
    probe = let_try(session, queue)
    finish(session, probe, outcome=outcome)
    look()
