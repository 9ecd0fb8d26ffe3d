"""How queues do: their health, what they hold, and their last minutes."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.selectors import reach
from apps.accounts.serializers.accounts import page_of
from apps.errors import NotFound
from apps.jobs.api import examples
from apps.jobs.engine.health import Facts, health
from apps.jobs.engine.list_jobs import Window
from apps.jobs.selectors import count_held
from apps.jobs.selectors.health import judge, minutes
from apps.jobs.serializers import stats as answers
from apps.jobs.states import JobState
from apps.queues import selectors

HOUR = {"completed": 1180, "failed": 9, "dead_lettered": 1}
HEALTH = {
    "id": examples.ID,
    "queue": "thumbnails",
    "depth": {"total": 12, "high": 2, "normal": 10, "low": 0, "capped": False},
    "oldest_ready_seconds": 3.2,
    "in_flight": 4,
    "cap": 10,
    "live_workers": 2,
    "breaker": "closed",
    "rate_limited": False,
    "saturated": False,
    "starved": False,
    "last_hour": HOUR,
    "p95_ms": 412.5,
    "health": "moving",
    "reason": "",
}
COUNTS = {state.value: 0 for state in JobState if state not in (JobState.COMPLETED, JobState.CANCELLED)}
STATS = {
    "queue": examples.ID,
    "counts": {**COUNTS, "queued": 12, "running": 4, "dead_letter": 1},
    "oldest_ready_seconds": 3.2,
    "last_hour": HOUR,
}
MINUTE = {
    "minute": "2027-03-14T07:00:00Z",
    "completed": 20,
    "failed": 1,
    "dead_lettered": 0,
    "lost": 0,
    "wait_p50_ms": 2.1,
    "wait_p95_ms": 8.4,
    "wait_p99_ms": 19.7,
    "run_p50_ms": 180.2,
    "run_p95_ms": 412.5,
    "run_p99_ms": 655.0,
}
_HEALTH = answers.QueueHealthAnswer()


class QueueHealth(Endpoint):
    route = "project-queue-health"

    @tells(
        "Show how a project's queues do",
        answer=page_of(answers.QueueHealthAnswer),
        example=examples.page(HEALTH),
        paged=True,
    )
    def get(self, request: Request, project: UUID) -> Response:
        """A word for each, and why: moving, idle, paused, tripped (its breaker is not closed), late (the first in line has
        waited for five minutes) or stuck (nobody serves it)."""
        self.reach(reach.projects(self.caller), pk=project)
        pager = Pager(request, within=project)
        page = pager.page
        window = Window(limit=page.limit + 1, older_than=page.older_than, newer_than=page.newer_than)
        found = health(project_id=project, window=window)
        return Response(pager.answer(found, _shown, lambda facts: facts.id))


class QueueStats(Endpoint):
    route = "queue-stats"

    @tells("Count what a queue holds", answer=answers.StatsAnswer, example=STATS)
    def get(self, request: Request, queue: UUID) -> Response:
        """Exact, and so not free: `queue-health` and `/metrics` are what to ask every few seconds."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        seen = health(project_id=found.project_id, queue_id=queue, window=Window(limit=1))
        if not seen:
            raise NotFound
        told = {
            "queue": queue,
            "counts": {**COUNTS, **count_held([queue])},
            "oldest_ready_seconds": seen[0].oldest_seconds,
            "last_hour": seen[0],
        }
        return Response(answers.StatsAnswer(told).data)


class QueueSeries(Endpoint):
    route = "queue-series"

    @tells(
        "Show the last minutes of a queue",
        answer=answers.SeriesAnswer,
        example={"queue": examples.ID, "minutes": [MINUTE]},
        query=answers.SeriesQuery,
    )
    def get(self, request: Request, queue: UUID) -> Response:
        """The oldest first, each minute once; the last one is still going on. Summed up from the ledger every ten seconds."""
        self.reach(selectors.queues(self.caller), pk=queue)
        found = minutes(queue_id=queue, count=self.asked.get("minutes", answers.MINUTES))
        return Response(answers.SeriesAnswer({"queue": queue, "minutes": found}).data)


def _shown(facts: Facts) -> dict[str, Any]:
    return _HEALTH.to_representation(judge(facts))
