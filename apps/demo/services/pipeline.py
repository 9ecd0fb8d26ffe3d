"""Workflows of pictures: a thumbnail of each, a sheet of them all, an album once somebody has approved the sheet; and of films."""

import time
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol
from uuid import UUID

import httpx
from django.conf import settings
from django.db.models import Count, QuerySet

from apps.audit.record import Actor
from apps.demo.services import video
from apps.demo.services.cast import Cast
from apps.jobs import services
from apps.jobs.models import Job
from apps.jobs.states import FINAL, JobState
from apps.queues.models import Queue

LOOK_EVERY = 0.2  # seconds
STALLED = 600.0  # seconds without any change, after which nothing more is expected


class Refused(Exception):
    """The API did not take what the demo submitted."""


class Stalled(Exception):
    """Nothing moves any more."""


type Jobs = list[dict[str, Any]]


class Door(Protocol):
    """A way in: the HTTP API, or Python."""

    queue: Queue

    def workflow(self, name: str, jobs: Jobs, *, affinity: bool = False) -> tuple[UUID, dict[str, UUID]]:
        """Submit a workflow, to one worker if it has affinity; answers its id, and those of its jobs by name."""


class Api:
    """The HTTP API of a running site, with a token."""

    def __init__(self, address: str, token: str, cast: Cast) -> None:
        self.queue = cast.queue
        bearer = {"Authorization": f"Bearer {token}"}
        self.client = httpx.Client(base_url=f"{address}/api/v1", headers=bearer, timeout=30, trust_env=False)

    def workflow(self, name: str, jobs: Jobs, *, affinity: bool = False) -> tuple[UUID, dict[str, UUID]]:
        body = {"name": name, "affinity": affinity, "jobs": jobs}
        answer = self.client.post(f"/projects/{self.queue.project_id}/workflows", json=body)
        if not answer.is_success:
            raise Refused(f"POST {answer.url.path} answered {answer.status_code}: {answer.text[:2000]}")
        made = answer.json()
        return UUID(made["workflow"]), {job["name"]: UUID(job["id"]) for job in made["jobs"]}


class Python:
    """apps.jobs.services, in this process."""

    def __init__(self, cast: Cast) -> None:
        self.queue, self.member = cast.queue, cast.member

    def workflow(self, name: str, jobs: Jobs, *, affinity: bool = False) -> tuple[UUID, dict[str, UUID]]:
        made = services.submit_workflow(
            project=self.queue.project, name=name, jobs=jobs, affinity=affinity, submitted_by=self.member.pk
        )
        return made.workflow.pk, {job.name: job.placed.job_id for job in made.jobs}

    def approve(self, pipeline: "Pipeline") -> None:
        """Give the word that its jobs wait for."""
        actor = Actor(name=self.member.email, user_id=self.member.pk)
        for job_id in pipeline.jobs_that(state=JobState.AWAITING_APPROVAL):
            services.approve(job_id=job_id, actor=actor, note="The demo has looked at it.")


@dataclass
class Pipeline:
    workflows: list[UUID] = field(default_factory=list)
    shown: dict[str, list[UUID]] = field(default_factory=dict)  # jobs that somebody will want to see, by what they make
    jobs: int = 0

    def states(self) -> Counter[str]:
        """How many of its jobs are in each state."""
        counted = self._jobs().order_by().values_list("state").annotate(Count("id"))
        return Counter(dict(counted))

    def jobs_that(self, **fit: Any) -> list[UUID]:
        return list(self._jobs().filter(**fit).values_list("id", flat=True))

    def _jobs(self) -> QuerySet[Job]:
        return Job.objects.filter(workflow_id__in=self.workflows)


def submit(door: Door, files: Sequence[str]) -> Pipeline:
    """Submit it all: of as many pictures as one call takes one workflow, and one of each film, where ffmpeg is there."""
    films = [name for name in files if video.there() and PurePosixPath(name).suffix.lower() in video.SUFFIXES]
    pictures = [name for name in files if name not in set(films)]
    pipeline, size = Pipeline(), min(settings.BATCH_MAX - 2, settings.DEPENDENCIES_MAX)
    for start in range(0, len(pictures), size):
        part = pictures[start : start + size]
        jobs = _pictures(door.queue.name, part)
        _begin(door, pipeline, f"{len(part)} pictures", jobs, {"contact sheet": "sheet", "album": "publish"})
    for name in films:
        jobs = _film(door.queue.name, name)
        _begin(door, pipeline, PurePosixPath(name).name[-100:], jobs, {"small film": "transcode"}, affinity=True)
    return pipeline


def _film(queue: str, name: str) -> Jobs:
    """Its steps run on one worker, for the second finds there what the first has fetched."""
    return [
        {"name": "probe", "queue": queue, "type": "media.probe", "payload": {"film": name}},
        {"name": "transcode", "queue": queue, "type": "media.transcode", "depends_on": ["probe"]},
    ]


def _pictures(queue: str, names: Sequence[str]) -> Jobs:
    steps: Jobs = [
        {"name": f"thumbnail {number}", "type": "image.thumbnail", "payload": {"picture": name}}
        for number, name in enumerate(names, 1)
    ]
    sheet = {"name": "sheet", "type": "image.contact_sheet", "on_parent_failure": "run"}
    publish = {"name": "publish", "type": "image.publish", "requires_approval": True, "depends_on": ["sheet"]}
    steps += [{**sheet, "depends_on": [step["name"] for step in steps]}, publish]
    return [{"queue": queue, **step} for step in steps]


def _begin(
    door: Door, pipeline: Pipeline, name: str, jobs: Jobs, shown: dict[str, str], *, affinity: bool = False
) -> None:
    workflow, ids = door.workflow(name, jobs, affinity=affinity)
    pipeline.workflows.append(workflow)
    pipeline.jobs += len(jobs)
    for what, step in shown.items():
        pipeline.shown.setdefault(what, []).append(ids[step])


def watch(pipeline: Pipeline, seen: Callable[[Counter[str]], None], *, over: Set[str] = FINAL) -> Counter[str]:
    """Look until every job is in one of these states; `seen` is told at each look, and may raise to end the watch."""
    last, since = Counter[str](), time.monotonic()
    while True:
        states = pipeline.states()
        seen(states)
        if sum(states[state] for state in over) == pipeline.jobs:
            return states
        if states != last:
            last, since = states, time.monotonic()
        elif time.monotonic() - since > STALLED:
            raise Stalled(f"Nothing has moved for {STALLED:.0f} s; the jobs are {dict(states)}.")
        time.sleep(LOOK_EVERY)
