"""A Fencepost worker, with nothing but Python's standard library (3.10 or newer) and the two files beside this one.

    from fencepost_client import Discard, Worker

    worker = Worker("https://jobs.example.com", token="fp_…", uid="press-7", queues=["media/images"], concurrency=4)

    @worker.handler("photo.resize")
    def thumbnail(job):
        job.progress(1, 2, stage="resize")
        return {"width": job.payload["width"]}

    worker.run()

A handler's answer is the job's result. Whatever it raises is an error that is retried; `Discard` is one that is not,
`Snooze(seconds)` runs the job later, `Retry(seconds)` says when. `job.cancelled` turns true when the job is cancelled or
no longer ours: return then. TERM or Ctrl-C stops claiming and waits `grace` seconds for what runs; the rest is handed back.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from fencepost_api import Api, Away, Refused
from fencepost_job import Discard, Job, NeedsApproval, Retry, Snooze, outcome

__all__ = ["Away", "Discard", "Job", "NeedsApproval", "Refused", "Retry", "Snooze", "Worker"]

log = logging.getLogger("fencepost")

WAIT = 30  # seconds a claim is held open
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0  # between two tries of a server that is away
BATCH = 100  # reports in a call
FAILED, SUPERSEDED = 1, 3  # exit statuses; the latter: another process began under this name


class Worker:
    """Claims, runs handlers in threads, beats, reports; goes on through restarts and outages of the server."""

    def __init__(
        self,
        url: str,
        *,
        token: str,
        uid: str = "",
        queues: list[str] | None = None,
        concurrency: int = 1,
        lease_seconds: float = 30,
        version: str = "",
        grace: float = 30,
        capabilities: dict[str, Any] | None = None,
    ) -> None:
        self.api = Api(url, token)
        self.handlers: dict[str, Callable[[Job], Any]] = {}
        self.about = {
            "uid": uid or f"{socket.gethostname()}:{os.getuid()}",
            **({"queues": queues} if queues else {}),
            "concurrency": concurrency, "lease_seconds": lease_seconds, "version": version,
            "hostname": socket.gethostname(), "pid": os.getpid(), "capabilities": capabilities or {},
        }  # fmt: skip
        self.concurrency, self.grace = concurrency, grace
        self.session, self.lease, self.beat_every = "", lease_seconds, lease_seconds / 3
        self.held: dict[str, Job] = {}
        self.ended: list[tuple[Job, dict[str, Any]]] = []
        self.suspects: set[tuple[str, str]] = set()
        self.lock, self.beginning = threading.Condition(), threading.Lock()
        self.stopping = self.over = False
        self.status, self.claims, self.drain = 0, 0, False  # to exit with; under way; an operator's wish
        self.beat_at = time.monotonic()  # when the lease was last known to hold

    def handler(self, type: str) -> Callable[[Callable[[Job], Any]], Callable[[Job], Any]]:
        """Register a function for a type of job."""

        def register(function: Callable[[Job], Any]) -> Callable[[Job], Any]:
            self.handlers[type] = function
            return function

        return register

    def run(self) -> None:
        """Work until TERM or Ctrl-C, then drain."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        self._patiently(self._begin)
        for part in (self._claiming, self._beating, self._reporting):
            threading.Thread(target=part, daemon=True).start()
        while not self.stopping:
            time.sleep(0.1)
        self._leave()
        if self.status:
            raise SystemExit(self.status)

    def stop(self) -> None:
        """Claim no more."""
        self.stopping = True

    def _fail(self, error: Exception, status: int = FAILED) -> None:
        """There is no sense in going on."""
        log.error("%s", error)
        self.status, self.over, self.stopping = status, True, True

    def _begin(self) -> None:
        asked_at = time.monotonic()
        told = self.api.send("POST", "worker/sessions", {**self.about, "types": sorted(self.handlers)})
        with self.lock:
            for job in self.held.values():
                job.stopped = job.stopped or "lost"
            self.held, self.suspects = {}, set()
            self.session, self.beat_every, self.beat_at = told["session"], told["heartbeat_seconds"], asked_at
        log.info("session %s of %s", self.session, self.about["uid"])

    def _claiming(self) -> None:
        while not self.stopping:
            with self.lock:
                while len(self.held) >= self.concurrency and not self.stopping:
                    self.lock.wait(0.5)
                room, session = self.concurrency - len(self.held), self.session
            if not self.stopping:
                self._patiently(self._claim, session, room)

    def _claim(self, session: str, room: int) -> None:
        if session != self.session:
            return
        began, self.claims = time.monotonic(), self.claims + 1
        try:
            told = self._ask("claim", {"limit": room, "wait_seconds": 0 if self.drain else WAIT}, seconds=WAIT + 15)
        finally:
            self.claims -= 1
        for claim in told["jobs"]:
            self._start(Job(claim, session))
        self.drain = told["drain"]
        if not told["jobs"] and time.monotonic() - began < 1:
            time.sleep(random.uniform(0.5, 1.5))  # a server that does not hold claims open  # noqa: S311

    def _start(self, job: Job) -> None:
        with self.lock:
            if job.session != self.session or self.stopping:
                return  # what is not held goes back when we leave
            self.held[job.id] = job
        threading.Thread(target=self._run, args=(job,), daemon=True).start()

    def _run(self, job: Job) -> None:
        end = outcome(self.handlers[job.type], job)
        with self.lock:  # said even if the job is ours no more: the server counts what it fences
            self.ended.append((job, end))
            self.lock.notify_all()

    def _beating(self) -> None:
        while not self.over:
            news = any(job.told for job in list(self.held.values()))
            time.sleep(min(self.beat_every, 1) if news else self.beat_every)
            if not self.over:
                self._patiently(self._beat, longest=self.beat_every / 2)

    def _beat(self) -> None:
        with self.lock:
            jobs = list(self.held.values())
        told = [job.told for job in jobs if job.told]
        idle, lines = self.claims == 0, [line for job in jobs for line in job.take_lines()]
        body = {"held": [job.pair for job in jobs], "progress": told, "logs": lines[:1000], "draining": self.stopping}
        asked_at = time.monotonic()
        answer = self._ask("heartbeat", body)
        self.beat_at = asked_at
        for job in jobs:
            job.told = None if job.told in told else job.told
        for why, name in (("cancelled", "cancel"), ("lost", "lost")):
            for pair in answer[name]:
                self._halt(pair, why)
        self.drain = answer["drain"]
        self._suspect({(one["job"], one["fence"]) for one in answer["unknown"]} if idle else set())

    def _halt(self, pair: dict[str, str], why: str) -> None:
        with self.lock:
            job = self.held.get(pair["job"])
            if job is not None and job.fence == pair["fence"]:
                job.stopped = why
                if why == "lost" and not any(one is job for one, _ in self.ended):
                    del self.held[job.id]
                    self.lock.notify_all()

    def _suspect(self, unknown: set[tuple[str, str]]) -> None:
        """Jobs that two heartbeats name and no claim has brought: the answer was lost, so they go back."""
        again = [pair for pair in unknown & self.suspects if pair[0] not in self.held]
        self.suspects = unknown
        if again:
            ends = [{"job": job, "fence": fence, "outcome": "released"} for job, fence in again]
            self._ask("report", {"results": ends})

    def _reporting(self) -> None:
        while not self.over:
            with self.lock:
                while not self.ended and not self.over:
                    self.lock.wait(0.5)
                batch = [one for one in self.ended if one[0].session == self.ended[0][0].session][:BATCH]
            if batch:
                self._patiently(self._report, batch)

    def _report(self, batch: list[tuple[Job, dict[str, Any]]]) -> None:
        """Say it until it is answered, in the session that claimed it: what was applied already is not fenced."""
        said, lines = [job.told for job, _ in batch if job.told], [line for job, _ in batch for line in job.lines]
        body = {"results": [{**job.pair, **end} for job, end in batch], "progress": said, "logs": lines[:1000]}
        try:
            fenced = self._ask("report", body, session=batch[0][0].session)["fenced"]
        except Refused as error:
            if error.status not in (400, 404, 413):
                raise
            self._soften(batch, error)
        else:
            for pair in fenced:
                log.warning("report of %s fenced: the job has moved on", pair["job"])
            self._let_go(batch)

    def _soften(self, batch: list[tuple[Job, dict[str, Any]]], error: Refused) -> None:
        """A report that the server cannot take: find the one at fault, and say of it that it could not be kept."""
        if error.status == 404:  # a session of long ago: who ran the job since has told how it ended
            self._let_go(batch)
        elif len(batch) > 1:
            for one in batch:
                self._report([one])
        else:
            [(job, _)] = batch
            job.lines.clear()
            end = {"outcome": "permanent_error", "error_class": "ReportRefused", "error_message": str(error)}
            fenced = self._ask("report", {"results": [{**job.pair, **end}]}, session=job.session)["fenced"]
            log.error("report of %s refused: %s%s", job.id, error, " (fenced)" if fenced else "")
            self._let_go(batch)

    def _let_go(self, batch: list[tuple[Job, dict[str, Any]]]) -> None:
        with self.lock:
            gone = [job for job, _ in batch]
            self.ended = [one for one in self.ended if one[0] not in gone]
            for job in gone:
                if self.held.get(job.id) is job:
                    del self.held[job.id]
            self.lock.notify_all()

    def _ask(self, verb: str, body: Any, *, session: str = "", seconds: float = 15) -> Any:
        """Ask in the session; begin a new one where it is over. What ran in the old one runs elsewhere by then."""
        session = session or self.session
        try:
            return self.api.send("POST", f"worker/sessions/{session}/{verb}", body, seconds=seconds)
        except Refused as error:
            if error.code == "lease_lost":
                raise Away(str(error)) from error  # the next heartbeat renews it
            if error.code != "session_over" and (error.code != "not_found" or session != self.session):
                raise
            self._begin_again(session, error)
            raise Away("a new session began") from error

    def _begin_again(self, session: str, error: Refused) -> None:
        """After a silence longer than the lease. Without one another process has taken the name, and we give way."""
        with self.beginning:
            if session != self.session:
                return
            if time.monotonic() - self.beat_at < self.lease:
                self._fail(error, SUPERSEDED)
            elif not self.stopping:
                log.warning("session %s is over: it was silent for too long", session)
                self._begin()

    def _patiently(self, call: Callable[..., None], *args: Any, longest: float = LONGEST_PAUSE) -> None:
        """Call until the server answers, with longer and longer pauses, never in step with others."""
        pause = FIRST_PAUSE
        while not self.over:
            try:
                call(*args)
                if pause > FIRST_PAUSE:
                    log.info("the server answers again")
                return
            except Refused as error:
                if error.status in (401, 403) or call == self._begin:
                    self._fail(error)
                else:
                    log.error("%s", error)
                return
            except Away as error:
                log.warning("server does not answer: %s", error)
                time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
                pause = min(pause * 2, longest)
                if self.stopping and call == self._claim:
                    return

    def _leave(self) -> None:
        end = time.monotonic() + self.grace
        with self.lock:
            while self.held and not self.over and time.monotonic() < end:
                self.lock.wait(0.1)
            self.over = True
            self.lock.notify_all()
        try:
            self.api.send("DELETE", f"worker/sessions/{self.session}")
        except (Refused, Away) as error:
            log.warning("left without a goodbye; the lease will run out: %s", error)
