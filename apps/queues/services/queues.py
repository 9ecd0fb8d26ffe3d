"""Make, change, pause, resume and delete queues."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.timezone import now

from apps.accounts.models import Project
from apps.accounts.services.fields import change, make, told
from apps.audit.record import Actor
from apps.errors import BadInput
from apps.queues.engine.rerank import rerank_mark
from apps.queues.engine.tell import tell
from apps.queues.models import Queue
from apps.queues.services import breakers, deletion, gates
from apps.queues.services.recorded import hold, recorded

LIMITS = frozenset({"max_concurrency", "shards", "rate_per_second", "burst"})  # what gates are dealt from
PAUSE = ("paused_at", "paused_until", "paused_by", "pause_reason")


@transaction.atomic
def create(*, project: Project, actor: Actor, name: str, **fields: Any) -> Queue:
    """Make a queue; `fields` are those of the model. Raises BadInput, and Taken for a name that is."""
    queue = Queue(project=project, name=name, **fields)
    breakers.check(queue, fields)
    make(queue)
    gates.settle(queue)
    if queue.breaker_window is not None:
        breakers.begin(queue)
    recorded(queue, actor, "queue.create", after=told(queue))
    return queue


@transaction.atomic
def update(*, queue: Queue, actor: Actor, **fields: Any) -> Queue:
    """Change the named fields of a queue."""
    held = hold(queue.pk)
    breakers.check(held, fields)
    before, after = change(held, fields)
    if LIMITS & after.keys():
        gates.settle(held)
    if after.keys() & breakers.FIELDS:
        breakers.begin(held)
    if {"aging_seconds", "max_per_key"} & after.keys():
        rerank_mark(queue_id=held.pk)
    if after:
        recorded(held, actor, "queue.update", before=before, after=after)
    if "breaker_window" in after and held.breaker_window is None:
        breakers.close(held, actor)
    return held


@transaction.atomic
def pause(*, queue: Queue, actor: Actor, reason: str = "", until: datetime | None = None) -> Queue:
    """Let no claim that begins from now on take a job of this queue; running ones go on.

    Pausing a paused queue changes its reason and end. With `until` it resumes by itself.
    """
    if until is not None and until <= now():
        raise BadInput.at("#/until", "This lies in the past.")
    held = hold(queue.pk)
    asked = {
        "paused_at": held.paused_at or now(),
        "paused_until": until,
        "paused_by": actor.name,
        "pause_reason": reason,
    }
    before, after = change(held, asked)
    tell(project_id=held.project_id, kind="queue.paused", queue_id=held.pk, by=actor.name, reason=reason, until=until)
    recorded(held, actor, "queue.pause", before=before, after=after)
    return held


@transaction.atomic
def resume(*, queue: Queue, actor: Actor) -> Queue:
    """Let workers claim from this queue again; does nothing to one that is not paused."""
    held = hold(queue.pk)
    before, after = change(held, {"paused_at": None, "paused_until": None, "paused_by": "", "pause_reason": ""})
    if after:
        tell(project_id=held.project_id, kind="queue.resumed", queue_id=held.pk, by=actor.name)
        recorded(held, actor, "queue.resume", before=before, after=after)
    return held


@transaction.atomic
def delete(*, queue: Queue, actor: Actor, count: Callable[[UUID], Mapping[str, int]], cancel: bool = False) -> None:
    """Delete a queue; while it holds jobs, raises InUse with the counts by state unless they are to be cancelled.

    Jobs stand above queues, so the caller brings `count`; it is asked while the queue is held.
    """
    held = hold(queue.pk)
    counts = count(held.pk)
    deletion.refuse_held(counts, cancel=cancel)
    deletion.mark([held.pk], actor=actor)
    tell(project_id=held.project_id, kind="queue.deleted", queue_id=held.pk, by=actor.name, name=held.name)
    recorded(queue, actor, "queue.delete", before={**told(held), "cancelled": dict(counts)})
