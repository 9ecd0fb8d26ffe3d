"""The line of a project as its operators steer it: what is pending, and what each worker has."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.accounts.models import Project
from apps.jobs.engine.line import InLine, line
from apps.jobs.selectors.fleet import Member, fleet

LIMIT = 50  # items of a section


@dataclass(frozen=True, slots=True)
class Section:
    """What one worker runs, and what waits for it. `member` is None for one that has not been heard of for a day."""

    uid: str
    member: Member | None
    items: list[InLine]
    more: bool

    @property
    def state(self) -> str:
        return self.member.state if self.member else "offline"


@dataclass(frozen=True, slots=True)
class Line:
    """First come first. `more`: the section has more items than are told."""

    pending: list[InLine]
    more: bool
    workers: list[Section]


def operators_line(*, project: Project, queue_ids: Sequence[UUID], limit: int = LIMIT) -> Line:
    """A job of its own, and one for each workflow: under the worker that has it or is to have it, else pending."""
    pending: list[InLine] = []
    by_worker: dict[str, list[InLine]] = defaultdict(list)
    for item in line(project_id=project.pk, queue_ids=list(queue_ids), reach=limit + 1):
        (by_worker[item.worker] if item.worker else pending).append(item)
    members = {member.session.worker.uid: member for member in fleet(project=project, queue_ids=queue_ids)}
    sections = [
        Section(uid, members.get(uid), by_worker[uid][:limit], len(by_worker[uid]) > limit)
        for uid in sorted({*by_worker, *members})
    ]
    return Line(pending[:limit], len(pending) > limit, sections)
