"""Sessions of remote workers: begun, asked for work, kept alive, reported to and ended."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.authentication import address_of
from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.accounts.models import Organization
from apps.errors import BadInput, LeaseLost, NotFound, SessionOver
from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.log import Line
from apps.runtime.api import ends, examples
from apps.runtime.selectors import remote as selectors
from apps.runtime.serializers import answers, bodies
from apps.runtime.services import remote
from apps.workers.engine.register import About
from apps.workers.models import Session

BEATS = 3  # heartbeats of a lease
AGAIN = 1  # seconds until a process that cannot wait is asked again


class Sessions(Endpoint):
    route = "worker-sessions"

    @tells(
        "Begin a worker's session",
        ask=bodies.Begin,
        answer=answers.SessionAnswer,
        status=201,
        asks=examples.BEGIN,
        example=examples.SESSION,
        refusals=(409,),
    )
    def post(self, request: Request) -> Response:
        """The worker belongs to the token's organization; a token of one project serves that project's queues alone.
        Ends any earlier session of the same name. 409 for a name that is taken."""
        ask = self.body(bodies.Begin)
        home = self._home(ask.get("organization"))
        queues = selectors.named(self.caller, home, ask.get("queues"))
        if not queues:
            raise BadInput.at("#/queues", "There is no queue to serve.")
        about = _about(ask, queues, address_of(request))
        begun = remote.begin(uid=ask["uid"], organization=home, about=about, caller=self.caller)
        told = {
            **about,
            "session": begun.session_id,
            "uid": ask["uid"],
            "organization": home.pk,
            "fenced": begun.fenced,
        }
        told["heartbeat_seconds"] = round(about["lease_seconds"] / BEATS, 3)
        return Response(answers.SessionAnswer(told).data, status=201)

    def _home(self, given: UUID | None) -> Organization:
        place = given or self.caller.organization_id
        if place is None:
            raise BadInput.at("#/organization", "Say whose worker it is, or use an API token.")
        return self.reach(selectors.homes(self.caller), pk=place)


class InSession(Endpoint):
    """What is done with one session."""

    def session(self, session_id: UUID) -> Session:
        found = self.reach(selectors.sessions(self.caller), pk=session_id)
        if selectors.strays(self.caller, found):
            raise NotFound
        return found


class OneSession(InSession):
    route = "worker-session"

    @tells("End a worker's session", status=204)
    def delete(self, request: Request, session: UUID) -> Response:
        """What it still runs goes back to its queue and spends no attempt."""
        remote.leave(session=self.session(session))
        return Response(status=204)


class Claims(InSession):
    route = "worker-session-claim"

    @tells(
        "Claim jobs",
        ask=bodies.Claim,
        answer=answers.ClaimedAnswer,
        asks=examples.CLAIM,
        example={"jobs": [examples.WORK], "drain": False},
        refusals=(409,),
    )
    def post(self, request: Request, session: UUID) -> Response:
        """Answers at once when there is work, else when some comes, or without any when the wait is over. Never more
        than the session has free slots. A process that cannot hold a request open answers at once, with `Retry-After`."""
        found = self.session(session)
        ask = self.body(bodies.Claim)
        queues, types = _wanted(found, ask)
        _refuse_ended(found)
        drain = found.draining or found.worker.drained_at is not None
        taken, served = remote.Taken(), selectors.served(self.caller, queues)
        if not drain:
            limit = min(ask.get("limit", found.concurrency), found.concurrency)
            taken = remote.take(session=found, queues=served, types=types, limit=limit)
        told = {"jobs": [_work(job) for job in taken.jobs], "drain": drain}
        response = Response(answers.ClaimedAnswer(told).data)
        wish = _wish_of(request)
        if wish is not None:
            wish.seconds, wish.session_id, wish.token_in = ask.get("wait_seconds", 0), found.pk, taken.token_in
            wish.queues, wish.types = frozenset(served), frozenset(types)
            wish.reservation_id = found.reservation_id
            wish.jobs = [(job.job_id, job.fence) for job in taken.jobs]
            wish.more = taken.more
            wish.looked = not drain and not taken.jobs and selectors.has_room(found)
        elif ask.get("wait_seconds") and not taken.jobs:
            response["Retry-After"] = str(AGAIN)
        return response


class Heartbeats(InSession):
    route = "worker-session-heartbeat"

    @tells(
        "Keep a session alive",
        ask=bodies.Heartbeat,
        answer=answers.BeatAnswer,
        asks=examples.BEAT,
        example=examples.BEATEN,
        refusals=(409,),
    )
    def post(self, request: Request, session: UUID) -> Response:
        """Extends the lease, takes progress and log lines of jobs the session holds, and says which of them to stop."""
        found = self.session(session)
        ask = self.body(bodies.Heartbeat)
        told = [_told(one) for one in ask.get("progress", ())]
        held = {one["job"]: one["fence"] for one in [*ask.get("progress", ()), *ask.get("held", ())]}
        beat = remote.beat(
            session=found, held=held, told=told, lines=lines_of(ask.get("logs", ())),
            draining=ask.get("draining", False), sample=ask.get("sample"),
        )  # fmt: skip
        pairs = {name: _pairs(getattr(beat, name)) for name in ("cancel", "lost", "unknown")}
        drain = beat.drain or found.draining or ask.get("draining", False)
        return Response(answers.BeatAnswer({**pairs, "drain": drain}).data)


class Reports(InSession):
    route = "worker-session-report"

    @tells(
        "Report how jobs ended",
        ask=bodies.Report,
        answer=answers.FencedAnswer,
        asks=examples.REPORT,
        example={"fenced": []},
    )
    def post(self, request: Request, session: UUID) -> Response:
        """May be said again until it is answered: what has been applied is not fenced. Of two reports of one attempt the
        first counts, and one with another outcome is named among the fenced. A session that is over may
        report too; only what is still its own counts."""
        found = self.session(session)
        ask = self.body(bodies.Report)
        held = selectors.running(found, [one["job"] for one in ask["results"]])
        fenced = remote.settle(
            session=found,
            ended=ends.ended(found.pk, ask["results"], held),
            places={job.pk: (job.queue_id, job.concurrency_key) for job in held},
            lines=lines_of(ask.get("logs", ())),
            told=[(one["fence"], _told(one)) for one in ask.get("progress", ())],
        )
        return Response({"fenced": _pairs((one.job_id, one.fence) for one in fenced)})


def _about(ask: dict[str, Any], queues: list[UUID], address: str | None) -> About:
    capabilities = ask.get("capabilities")
    return About(
        concurrency=ask.get("concurrency", 1),
        lease_seconds=ask.get("lease_seconds", bodies.lease_default()),
        hostname=ask.get("hostname") or address or "",
        pid=ask.get("pid", 0),
        version=ask.get("version", ""),
        queues=queues,
        types=sorted(set(ask["types"])),
        capabilities=json.loads(capabilities) if capabilities else {},
    )


def _wanted(session: Session, ask: dict[str, Any]) -> tuple[list[UUID], list[str]]:
    """The queues and types of a claim. Raises BadInput for one that the session did not begin with."""
    queues = {str(one): one for one in session.queues}
    names, types = ask.get("queues", list(queues)), ask.get("types", session.types)
    for place, name in enumerate(names):
        if name.lower() not in queues:
            raise BadInput.at(f"#/queues/{place}", "This session does not serve such a queue.")
    for place, name in enumerate(types):
        if name not in session.types:
            raise BadInput.at(f"#/types/{place}", "This session did not begin with this type.")
    return [queues[name] for name in dict.fromkeys(map(str.lower, names))], list(dict.fromkeys(types))


def _refuse_ended(session: Session) -> None:
    if session.ended_at or session.fenced_at:
        raise SessionOver
    if session.lapsed:  # type: ignore[attr-defined]
        raise LeaseLost("The session was silent for longer than its lease: send a heartbeat first.")


def _wish_of(request: Request) -> remote.Wish | None:
    """Where the door that waits is told what for; None where there is no such door."""
    found = getattr(request._request, "scope", {}).get(remote.WISH)
    return found if isinstance(found, remote.Wish) else None


def _work(job: Any) -> dict[str, Any]:
    return {
        **job._asdict(),
        "payload": json.loads(job.payload),
        "approved": json.loads(job.approved) if job.approved else None,
        "idempotency_key": f"{job.job_id}-{job.generation}",
        "limit_ms": max(round(job.limit_seconds * 1000), 0),
    }


def _told(one: dict[str, Any]) -> Told:
    return Told(
        job_id=one["job"],
        done=one["done"],
        total=one.get("total"),
        stage=one.get("stage", ""),
        note=one.get("note", ""),
    )


def lines_of(given: Iterable[dict[str, Any]]) -> list[Line]:
    """Lines of jobs' logs; which attempt they are of is looked up."""
    return [Line(one["job"], one["fence"], 0, one["line"], one.get("level", "info"), one["message"]) for one in given]


def _pairs(pairs: Iterable[tuple[UUID, int]]) -> list[dict[str, str]]:
    return [{"job": str(job_id), "fence": str(fence)} for job_id, fence in sorted(set(pairs))]
