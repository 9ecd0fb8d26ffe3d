"""Case H27 against the server of production: one request sent many times at once, through processes that are killed."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.error import HTTPError, URLError

import psutil
import pytest

from apps.accounts.models import Role, TokenKind
from apps.jobs.models import Job
from tests.factories import ApiTokenFactory, MembershipFactory
from tests.processes import until
from tests.trouble.conftest import SHORT
from tests.trouble.servers import free_port

pytestmark = pytest.mark.chaos
WEBS, AT_ONCE = 4, 50
ROUNDS = 10 if SHORT else 100
GRANIAN = Path(sys.executable).with_name("granian")
BODY = {"type": "echo", "payload": {"a": 1, "b": [1, 2]}}
# The same meaning, written otherwise.
SPELLINGS = [
    json.dumps(BODY),
    '{"payload": {"b": [1.0, 2], "a": 1}, "type": "echo"}',
    '{\n  "type" : "echo" , "payload" : { "a" : 1 , "b" : [ 1 , 2.0 ] } }',
]


@dataclass
class Web:
    """Several web processes that can be killed and started again, one port each."""

    url: str
    log: Path
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(WEBS)])
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, port: int) -> None:
        with self.log.open("ab") as output:
            self.running[port] = subprocess.Popen(
                [
                    str(GRANIAN),
                    "--interface",
                    "wsgi",
                    "--port",
                    str(port),
                    "--blocking-threads",
                    "8",
                    "config.wsgi:application",
                ],
                env=os.environ | {"DATABASE_URL": self.url, "DEBUG": "true", "DB_POOL_SIZE": "8"},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self, port: int) -> None:
        """The process and those it started, without a word; none of them holds the port after that."""
        process = self.running.pop(port)
        below = psutil.Process(process.pid).children(recursive=True)
        for one in [*below, psutil.Process(process.pid)]:
            one.send_signal(signal.SIGKILL)
        process.wait(10)
        psutil.wait_procs(below, timeout=10)

    def answers(self, port: int) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), 0.2):
                return True
        except OSError:
            return False


@pytest.fixture
def web(own_database, tmp_path) -> Iterator[Web]:
    made = Web(own_database.url, tmp_path / "web.log")
    try:
        for port in made.ports:
            made.start(port)
        for port in made.ports:
            until(partial(made.answers, port), what=made.log.read_text, within=60)
        yield made
    finally:
        for port in list(made.running):
            made.kill(port)


@pytest.fixture
def token(own_database, organization) -> str:
    user = MembershipFactory.create(organization=organization, role=Role.MEMBER).user
    made: Any = ApiTokenFactory.create(kind=TokenKind.LOGIN, user=user, organization=None, scopes=[])
    return str(made.text)


def ask(port: int, token: str, queue: Any, body: str, key: str) -> tuple[int, dict[str, Any]] | None:
    """The status and the answer; None where the process went away."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/queues/{queue.pk}/jobs",
        body.encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)
    except (URLError, HTTPException, OSError):
        return None


def together(web: Web, token: str, queue: Any, keys: Sequence[str]) -> list[tuple[int, dict[str, Any]] | None]:
    """A request for each of these keys, all at one moment, spelled three ways, over all processes."""
    barrier = Barrier(len(keys), timeout=30)

    def one(number: int) -> tuple[int, dict[str, Any]] | None:
        barrier.wait()
        return ask(web.ports[number % WEBS], token, queue, SPELLINGS[number % 3], keys[number])

    with ThreadPoolExecutor(len(keys)) as pool:
        return list(pool.map(one, range(len(keys))))


def test_one_request_sent_by_fifty_at_once_makes_one_job(web, token, queue):
    for number in range(ROUNDS):
        answers = [answer for answer in together(web, token, queue, [f"key-{number}"] * AT_ONCE) if answer]
        assert len(answers) == AT_ONCE
        told = [body["id"] for status, body in answers if status in (200, 201)]
        assert [status for status, _ in answers].count(201) == 1
        assert len(set(told)) == 1
        assert {body["code"] for status, body in answers if status == 409} <= {"idempotency_in_flight"}
        assert {status for status, _ in answers} <= {200, 201, 409}
    assert Job.objects.count() == ROUNDS


def test_what_a_killed_process_was_asked_is_made_once_when_it_is_asked_again(web, token, queue):
    """Killed before it made the job, in the middle, or after it and before the answer: nobody who asks can tell."""
    dice = random.Random(27)  # noqa: S311 - when
    for number in range(ROUNDS // 2):
        port = web.ports[number % WEBS]
        keys = [f"key-{number}-{each}" for each in range(AT_ONCE)]
        with ThreadPoolExecutor(1) as pool:
            crowd = pool.submit(together, web, token, queue, keys)
            time.sleep(dice.uniform(0.02, 0.2))  # not a synchronisation: every moment is as good as any
            web.kill(port)
            first = crowd.result()
        web.start(port)
        until(partial(web.answers, port), what=web.log.read_text, within=60)
        again = [patiently(port, token, queue, key) for key in keys]
        for before, (status, body) in zip(first, again, strict=True):
            assert status in ((200, 201) if before is None else (200,)), body
            assert before is None or (before[0], before[1]["id"]) == (201, body["id"])
    assert Job.objects.count() == AT_ONCE * (ROUNDS // 2)


def patiently(port: int, token: str, queue: Any, key: str) -> tuple[int, dict[str, Any]]:
    """Ask again while the server still holds the request of one that is gone."""
    answer = ask(port, token, queue, SPELLINGS[0], key)
    while answer is not None and answer[0] == 409:
        time.sleep(0.05)
        answer = ask(port, token, queue, SPELLINGS[0], key)
    return answer or (0, {})
