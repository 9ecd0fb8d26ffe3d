"""A thumbnail of each picture, then one sheet per thousand of them: submitted, and watched until all is over."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import httpx
from django.conf import settings
from django.db.models import Count

from apps.demo.services.cast import Cast
from apps.jobs import services
from apps.jobs.models import Job
from apps.jobs.states import FINAL

LOOK_EVERY = 0.2  # seconds
STALLED = 600.0  # seconds without any change, after which nothing more is expected


class Refused(Exception):
    """The API did not take what the demo submitted."""


class Stalled(Exception):
    """Nothing moves any more."""


class Door(Protocol):
    """A way in: the HTTP API, or Python."""

    def batch(self, jobs: list[dict[str, Any]]) -> tuple[UUID, list[UUID]]:
        """Submit jobs together; answers the batch and its jobs."""

    def one(self, job: dict[str, Any]) -> UUID:
        """Submit one job."""


class Api:
    """The HTTP API of a running site, with a token."""

    def __init__(self, address: str, token: str, cast: Cast) -> None:
        base = f"{address}/api/v1/queues/{cast.queue.pk}"
        bearer = {"Authorization": f"Bearer {token}"}
        self.client = httpx.Client(base_url=base, headers=bearer, timeout=30, trust_env=False)

    def batch(self, jobs: list[dict[str, Any]]) -> tuple[UUID, list[UUID]]:
        answer = self._post("/jobs/batch", {"jobs": jobs})
        return UUID(answer["batch"]), [UUID(job["id"]) for job in answer["jobs"]]

    def one(self, job: dict[str, Any]) -> UUID:
        return UUID(self._post("/jobs", job)["id"])

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.client.post(path, json=body)
        if not answer.is_success:
            raise Refused(f"POST {answer.url.path} answered {answer.status_code}: {answer.text[:2000]}")
        return answer.json()


class Python:
    """apps.jobs.services, in this process."""

    def __init__(self, cast: Cast) -> None:
        self.queue, self.submitter = cast.queue, cast.member.pk

    def batch(self, jobs: list[dict[str, Any]]) -> tuple[UUID, list[UUID]]:
        done = services.submit_batch(queue=self.queue, jobs=jobs, submitted_by=self.submitter)
        return done.batch.pk, [job.job_id for job in done.jobs]

    def one(self, job: dict[str, Any]) -> UUID:
        return services.submit(queue=self.queue, submitted_by=self.submitter, **job).pk


@dataclass
class Pipeline:
    batches: list[UUID] = field(default_factory=list)
    sheets: list[UUID] = field(default_factory=list)
    jobs: int = 0

    def states(self) -> Counter[str]:
        """How many of its jobs are in each state."""
        found: Counter[str] = Counter()
        for mine in ({"batch_id__in": self.batches}, {"id__in": self.sheets}):
            counted = Job.objects.filter(**mine).order_by().values_list("state").annotate(Count("id"))
            found.update(dict(counted))
        return found


def submit(door: Door, pictures: Sequence[str]) -> Pipeline:
    """Submit it all; a sheet waits for its thumbnails however they end."""
    pipeline, size = Pipeline(), min(settings.BATCH_MAX, settings.DEPENDENCIES_MAX, 1000)
    for start in range(0, len(pictures), size):
        part = pictures[start : start + size]
        batch, jobs = door.batch([{"type": "image.thumbnail", "payload": {"picture": name}} for name in part])
        sheet = {
            "type": "image.contact_sheet",
            "payload": {"batch": str(batch)},
            "depends_on": [str(job) for job in jobs],
            "on_parent_failure": "run",
        }
        pipeline.batches.append(batch)
        pipeline.sheets.append(door.one(sheet))
        pipeline.jobs += len(jobs) + 1
    return pipeline


def watch(pipeline: Pipeline, seen: Callable[[Counter[str]], None]) -> Counter[str]:
    """Look until every job has ended; `seen` is told at each look, and may raise to end the watch."""
    last, since = Counter[str](), time.monotonic()
    while True:
        states = pipeline.states()
        seen(states)
        if sum(states[state] for state in FINAL) == pipeline.jobs:
            return states
        if states != last:
            last, since = states, time.monotonic()
        elif time.monotonic() - since > STALLED:
            raise Stalled(f"Nothing has moved for {STALLED:.0f} s; the jobs are {dict(states)}.")
        time.sleep(LOOK_EVERY)
