"""Pause and resume a job type within a project; and what happens to pauses by themselves."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.timezone import now

from apps.accounts.models import Project
from apps.accounts.services.fields import told
from apps.audit.record import SYSTEM, Actor, record, spoken
from apps.errors import BadInput
from apps.queues.engine.lapse import Lapsed, lapse
from apps.queues.engine.tell import tell
from apps.queues.models import PausedType, Queue

LONGEST = 128  # characters of a type
FACTS = ("paused_at", "paused_until", "paused_by", "pause_reason")


@transaction.atomic
def pause_type(
    *, project: Project, type: str, actor: Actor, reason: str = "", until: datetime | None = None
) -> PausedType:
    """Let no claim that begins from now on take a job of this type from a queue of the project; running ones go on.

    Pausing a paused type changes its reason and end. With `until` it resumes by itself.
    """
    _check(type)
    if until is not None and until <= now():
        raise BadInput.at("#/until", "This lies in the past.")
    asked = {"paused_until": until, "paused_by": actor.name, "pause_reason": reason}
    found = PausedType.objects.select_for_update().filter(project=project, type=type).first()
    before = _facts(found) if found else None
    paused, _ = PausedType.objects.update_or_create(
        project=project, type=type, defaults=asked, create_defaults={**asked, "paused_at": now()}
    )
    tell(project_id=project.pk, kind="type.paused", type=type, by=actor.name, reason=reason, until=until)
    _record(project, type, actor, "pause", before=before, after=_facts(paused))
    return paused


@transaction.atomic
def resume_type(*, project: Project, type: str, actor: Actor) -> bool:
    """Let workers claim jobs of this type again; answers whether it was paused."""
    _check(type)
    found = PausedType.objects.select_for_update().filter(project=project, type=type).first()
    if found is None:
        return False
    before = _facts(found)
    found.delete()
    tell(project_id=project.pk, kind="type.resumed", type=type, by=actor.name)
    _record(project, type, actor, "resume", before=before, after=None)
    return True


@transaction.atomic
def end_pauses() -> set[UUID]:
    """End the pauses whose time has come; answers the queues whose workers are to be woken."""
    ended = lapse()
    for one in ended:
        _record_end(one)
    projects = [one.project_id for one in ended if one.queue_id is None]
    queues = {one.queue_id for one in ended if one.queue_id}
    return queues | set(Queue.objects.filter(project__in=projects).values_list("pk", flat=True) if projects else [])


def _record_end(one: Lapsed) -> None:
    kind, target = ("queue", str(one.queue_id)) if one.queue_id else ("job_type", f"{one.project_id}/{one.type}")
    record(
        actor=SYSTEM,
        organization_id=one.organization_id,
        action=f"{'queue' if one.queue_id else 'type'}.resume",
        target_type=kind,
        target_id=target,
        before={"paused_until": spoken(one.paused_until), "pause_reason": one.reason},
    )


def _check(type: str) -> None:
    if not type or len(type) > LONGEST or "\x00" in type:
        raise BadInput.at("#/type", f"A type has 1 to {LONGEST} characters, and no NUL.")


def _facts(paused: PausedType) -> dict[str, object]:
    facts = told(paused)
    return {name: facts[name] for name in FACTS}


def _record(
    project: Project,
    type: str,
    actor: Actor,
    verb: str,
    *,
    before: dict[str, object] | None,
    after: dict[str, object] | None,
) -> None:
    record(
        actor=actor,
        organization_id=project.organization_id,
        action=f"type.{verb}",
        target_type="job_type",
        target_id=f"{project.pk}/{type}",
        before=before,
        after=after,
    )
