"""The workers that serve a project, as its people may see them: of the jobs they hold, only its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Count, Q
from django.db.models.functions import Now

from apps.accounts.models import Project
from apps.dashboard.selectors.reserved import Reserved, reserved_workers
from apps.jobs.models import Job
from apps.jobs.states import JobState
from apps.queues.models import Queue
from apps.workers.models import Session
from apps.workers.selectors import Said

ABILITIES = 8  # entries of a worker's catalogue that are shown
REMEMBERED = timedelta(days=1)  # a worker unheard of for longer is no longer missed


@dataclass(frozen=True, slots=True)
class Member:
    """One worker by its latest session."""

    session: Session
    state: str  # live, draining, silent or stopped
    held: int  # jobs of this project that it runs
    queues: list[str]  # names; empty: every queue
    reserved: Reserved | None = None

    @property
    def is_live(self) -> bool:
        return self.state in ("live", "draining")

    @property
    def machine(self) -> list[str]:
        """Processor, memory, disk at the last heartbeat that said so."""
        said = Said.of(self.session.sample)
        return said.words if said else []

    @property
    def abilities(self) -> list[tuple[str, str]]:
        """The first few entries of its catalogue; a text as it is, anything else as JSON."""
        said = self.session.capabilities
        entries = islice(said.items(), ABILITIES) if isinstance(said, dict) else ()
        return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in entries]


@dataclass(frozen=True, slots=True)
class Fleet:
    members: list[Member]

    @property
    def live(self) -> list[Member]:
        return [member for member in self.members if member.is_live]

    @property
    def missed(self) -> list[Member]:
        """Those that fell silent without a goodbye."""
        return [member for member in self.members if member.state == "silent"]

    @property
    def expected(self) -> int:
        return len(self.live) + len(self.missed)

    @property
    def slots(self) -> int:
        return sum(member.session.concurrency for member in self.live)

    @property
    def held(self) -> int:
        return sum(member.held for member in self.live)

    def serves(self, queue_id: UUID) -> bool:
        """Whether a live worker that still takes jobs announces this queue."""
        return any(
            member.state == "live" and (not member.session.queues or queue_id in member.session.queues)
            for member in self.members
        )


def fleet(*, project: Project, queues: Sequence[Queue]) -> Fleet:
    """Workers heard of within a day that serve any of these queues."""
    names = {queue.pk: queue.name for queue in queues}
    sessions = list(_sessions(project, list(names)))
    held = _held([session.pk for session in sessions], list(names))
    reserved = reserved_workers(project=project, worker_ids=[session.worker_id for session in sessions])
    members = [
        Member(
            session=session,
            state=_state(session),
            held=held.get(session.pk, 0),
            queues=sorted(names[pk] for pk in session.queues if pk in names),
            reserved=reserved.get(session.worker_id),
        )
        for session in sessions
    ]
    order = {"live": 0, "draining": 1, "silent": 2, "stopped": 3}
    return Fleet(sorted(members, key=lambda member: (order[member.state], member.session.worker.uid)))


def _sessions(project: Project, queue_ids: list[UUID]) -> Any:
    """The latest session of each worker, with `lapsed` said by the database's clock."""
    return (
        Session.objects.filter(
            Q(queues=[]) | Q(queues__overlap=queue_ids),
            Q(worker__organization=None) | Q(worker__organization=project.organization_id),
            heartbeat_at__gt=Now() - REMEMBERED,
        )
        .annotate(lapsed=Q(lease_expires_at__lte=Now()))
        .select_related("worker")
        .order_by("worker_id", "-started_at")
        .distinct("worker_id")
    )


def _held(session_ids: list[UUID], queue_ids: list[UUID]) -> dict[UUID, int]:
    running = Job.objects.filter(
        shelved_on=None, state=JobState.RUNNING, session_id__in=session_ids, queue_id__in=queue_ids
    )
    return dict(running.order_by().values_list("session_id").annotate(Count("id")))


def _state(session: Any) -> str:
    if session.ended_at:
        return "stopped"
    if session.fenced_at or session.lapsed:
        return "silent"
    return "draining" if session.draining or session.worker.drained_at else "live"
