"""What submitting costs over HTTP: jobs one by one and a thousand in one call, to one web process of production."""

import json
import os
import secrets
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psutil

from apps.accounts.models import Membership, Role, User
from apps.accounts.selectors import caller_of_user
from apps.accounts.services import tokens
from apps.audit.record import Actor
from apps.bench.services.figures import Rounds, percentile, told
from apps.bench.services.ground import Ground, ground, unbroken
from apps.bench.services.records import TYPE, payload
from apps.bench.services.workers import Program, Stuck, wait

CLIENTS, SECONDS, BATCH, BATCHES, WARM_UP = 8, 10, 1000, 9, 50
THREADS = 2  # of the web process: more of them wait for the interpreter, and for two cores
READY_WITHIN = 60.0


class Web(Program):
    """One process of granian, as the runbook starts it."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        where = ("--host", "127.0.0.1", "--port", str(self.port))
        flags = ("--workers", "1", "--blocking-threads", str(THREADS), "--no-ws")
        server = ("-m", "granian", "--interface", "wsgi", "config.wsgi:application")
        super().__init__(*server, *where, *flags, SECRET_KEY=secrets.token_hex(32))

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def seconds(self) -> float:
        """Of processor time that it and its children have used."""
        root = psutil.Process(self.process.pid)
        times = [one.cpu_times() for one in (root, *root.children(recursive=True))]
        return float(sum(one.user + one.system for one in times))


class Client:
    """One connection that is kept. It speaks just enough HTTP: a library would cost as much as what is measured."""

    def __init__(self, web: Web, here: Ground, token: str) -> None:
        self.line = socket.create_connection(("127.0.0.1", web.port), timeout=30)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.jobs = f"/api/v1/queues/{here.queue.pk}/jobs"
        self.head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    def post(self, body: bytes, more: str = "") -> float:
        """Milliseconds from the request to the end of its answer."""
        head = f"POST {self.jobs}{more} HTTP/1.1\r\n{self.head}Content-Length: {len(body)}\r\n\r\n"
        began = time.perf_counter()
        self.line.sendall(head.encode() + body)
        answer = self._answer()
        if not answer.startswith(b"HTTP/1.1 201 "):
            raise Stuck(f"The web process answered {answer.decode(errors='replace')[:800]}")
        return (time.perf_counter() - began) * 1000

    def _answer(self) -> bytes:
        said = b""
        while b"\r\n\r\n" not in said:
            said += self._more()
        head, _, body = said.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(maxsplit=1)[0])
        while len(body) < length:
            body += self._more()
        return head + body

    def _more(self) -> bytes:
        more = self.line.recv(1 << 20)
        if not more:
            raise Stuck("The web process hung up.")
        return more

    def go_on(self, seconds: float) -> list[float]:
        end, taken = time.monotonic() + seconds, []
        while time.monotonic() < end:
            taken.append(self.post(_job()))
        return taken


def http(*, jobs: int | None, seconds: int | None, rounds: int, **_: object) -> dict[str, Any]:
    """Jobs a second of clients that each submit one after the other, and milliseconds of a call with many."""
    seconds, batch, load, taken = seconds or SECONDS, jobs or BATCH, os.getloadavg(), Rounds()
    with ground() as here, _web() as web:
        token = _token(here)
        clients = [Client(web, here, token) for _ in range(CLIENTS)]
        for _post in range(WARM_UP):
            clients[0].post(_job())
        for _round in range(rounds):
            taken.add(**_posts(clients, seconds, web), batch_ms=_batches(clients[0], batch))
        how = {"clients": CLIENTS, "seconds": seconds, "batch": batch, "threads": THREADS}
        return told(here, taken, unit="requests/s and ms", load=load, **how)


@contextmanager
def _web() -> Iterator[Web]:
    with unbroken():
        web = Web()
    try:
        wait([web], web.answers, within=READY_WITHIN, what="The web process does not answer")
        yield web
    finally:
        web.stop()


def _posts(clients: list[Client], seconds: float, web: Web) -> dict[str, float]:
    before = web.seconds
    with ThreadPoolExecutor(len(clients)) as pool:
        ms = sorted(one for each in pool.map(lambda client: client.go_on(seconds), clients) for one in each)
    return {
        "posts_per_second": len(ms) / seconds,
        "post_p50_ms": percentile(ms, 0.5),
        "post_p95_ms": percentile(ms, 0.95),
        "post_core_ms": (web.seconds - before) / len(ms) * 1000,
    }


def _batches(client: Client, size: int) -> float:
    """The median of several."""
    body = json.dumps({"jobs": [{"type": TYPE, "payload": payload()}] * size}).encode()
    return percentile(sorted(client.post(body, "/batch") for _ in range(BATCHES)), 0.5)


def _job() -> bytes:
    return json.dumps({"type": TYPE, "payload": payload()}).encode()


def _token(here: Ground) -> str:
    """Of somebody who may submit."""
    organization, member = here.queue.project.organization, User.objects.create_user("http@bench.example")
    Membership.objects.create(organization=organization, user=member, role=Role.MEMBER)
    by, actor = caller_of_user(member), Actor(name="manage.py bench")
    return tokens.create_token(by=by, actor=actor, organization=organization, scopes=["submit"])[1]
