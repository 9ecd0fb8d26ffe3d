"""Pages of a project's event log, for whoever would rather ask than listen; and the machine that answers."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.accounts.selectors import reach
from apps.audit.tail import check_cursor, held, read_events
from apps.events.engine.reached import reached
from apps.events.serializers import EventsAnswer, EventsQuery, PartAnswer, frame_of
from apps.runtime.supervisor.sampling import measure

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
LIMIT = 50
FRAME = {
    "v": 1,
    "seq": 42,
    "prev_seq": 41,
    "kind": "job.completed",
    "project_id": ID,
    "queue_id": ID,
    "job_id": ID,
    "state": "completed",
    "attempt": 1,
    "stage": "scaling",
    "done": 9,
    "total": 9,
    "error": None,
    "result_url": None,
    "at": "2027-03-14T07:00:21Z",
    "finished_at": "2027-03-14T07:00:21Z",
    "data": None,
}
EVENTS = {"results": [FRAME], "next": 42, "head": 42, "oldest": 1, "timeline": "00000001"}
SAMPLE = {
    "processor": {"percent": 12.5, "load": [0.4, 0.5, 0.6], "cores": 2},
    "memory": {"total": 8_000_000_000, "available": 5_000_000_000, "rss": 120_000_000},
    "disk": {"total": 100_000_000_000, "free": 60_000_000_000},
}


class Events(Endpoint):
    route = "project-events"

    @tells("Read a project's events", answer=EventsAnswer, example=EVENTS, query=EventsQuery, refusals=(409,))
    def get(self, request: Request, project: UUID) -> Response:
        """Those after a number, the oldest first. A number whose followers are no longer held is refused with 409
        `cursor_too_old` and the `oldest` that is; one of another history with `cursor_ahead` and the `head` to go on from.

        `stage`, `done`, `total` and `result_url` come with the end of an attempt: what it said last, and the first file it
        saved. They are null once a later attempt has said something; `job.progress` of the stream tells how far a running
        job is."""
        self.reach(reach.projects(self.caller), pk=project)
        asked, now = self.asked, held(project)
        after = asked.get("after", now.oldest - 1)
        check_cursor(now, after=after, timeline=asked.get("timeline"))
        limit = asked.get("limit", LIMIT)
        found = read_events(
            project_id=project, after=after, limit=limit, kind=asked.get("kind"), queue_id=asked.get("queue")
        )
        last = found[-1].seq if found else after
        told: dict[str, Any] = {
            "results": [frame_of(frame, project) for frame in reached(found)],
            # What came to light between the two statements is beyond the head that the first one saw.
            "next": last if len(found) == limit else max(last, now.head),
            "head": max(last, now.head),
            "oldest": now.oldest,
            "timeline": now.timeline,
        }
        return Response(EventsAnswer(told).data)


class Sysinfo(Endpoint):
    route = "sysinfo"

    @tells("Show how the web process's machine does", answer=PartAnswer, example=SAMPLE)
    def get(self, request: Request) -> Response:
        """Of the process that happens to answer; `rss` is its own memory."""
        return Response(measure())
