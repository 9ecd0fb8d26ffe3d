"""Who submits: customers over HTTP, who write down what they were told and ask again what they were not."""

import random
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from apps.bench.services.chaos.history import CANCELLED, REPLAYED, SUBMITTED, History
from apps.bench.services.chaos.work import QUIET

SHORT, LONG = (0.0, 0.3), (1.0, 3.0)  # seconds a job takes
LONG_PART, DELAYED_PART, KEYED_PART = 0.12, 0.15, 0.6
LOST_PART = 0.05  # of the answers to requests with a key: they are asked again
BATCH = 12
RECENT = 60  # jobs that may be cancelled or waited for
AGAIN_AFTER = 0.2  # seconds
BUDGET = 100  # attempts and losses: under faults without end, no job is to end by bad luck
COME_BACK = frozenset({408, 409, 425, 429, 500, 502, 503, 504})  # 409: the first request with this key still runs


@dataclass
class Shop:
    """Where customers go, and what they share."""

    address: str
    token: str
    queue: str
    history: History
    pace: float  # seconds between two requests of one customer
    orders: deque[str] = field(default_factory=deque)  # types that somebody wants submitted next
    closing: threading.Event = field(default_factory=threading.Event)  # no new requests
    closed: threading.Event = field(default_factory=threading.Event)  # no further tries either
    customers: list["Customer"] = field(default_factory=list)

    @property
    def in_flight(self) -> int:
        """Requests without an answer yet."""
        return sum(customer.asks for customer in self.customers)

    @property
    def asked(self) -> Counter[str]:
        """Answers by status."""
        return sum((customer.asked for customer in self.customers), Counter())

    def open(self, count: int, dice: random.Random) -> None:
        self.customers = [Customer(self, random.Random(dice.random())) for _ in range(count)]  # noqa: S311
        for customer in self.customers:
            customer.start()

    def shut(self) -> None:
        """At once, whoever is on his way."""
        self.closing.set()
        self.closed.set()

    def close(self, patience: float) -> bool:
        """No new requests; those on their way are tried until answered. Were they all?"""
        self.closing.set()
        for customer in self.customers:
            customer.join(patience / len(self.customers))
        answered = all(customer.went_home for customer in self.customers)
        self.closed.set()
        return answered


class Customer(threading.Thread):
    def __init__(self, shop: Shop, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self.shop, self.dice = shop, dice
        self.asks, self.asked = False, Counter[str]()
        self.went_home = False  # not by an error, and not left behind
        self.recent: deque[str] = deque(maxlen=RECENT)
        bearer = {"Authorization": f"Bearer {shop.token}"}
        self.client = httpx.Client(base_url=f"{shop.address}/api/v1", headers=bearer, timeout=10, trust_env=False)

    def run(self) -> None:
        acts: list[tuple[Callable[[], None], int]] = [
            (self.one, 10), (self.batch, 3), (self.child, 3), (self.cancel, 2), (self.replay, 1),
        ]  # fmt: skip
        calls, weights = zip(*acts, strict=True)
        while not self.shop.closing.wait(self.dice.uniform(0.5, 1.5) * self.shop.pace):
            self._fill_orders()
            self.dice.choices(calls, weights)[0]()
        self.client.close()
        self.went_home = True

    def _fill_orders(self) -> None:
        with suppress(IndexError):  # another customer may be quicker
            while True:
                self._submit([self._job(self.shop.orders.popleft())])

    # --- what a customer does ---

    def one(self) -> None:
        self._submit([self._job()])

    def batch(self) -> None:
        self._submit([self._job() for _ in range(self.dice.randint(2, BATCH))])

    def child(self) -> None:
        """A job that waits for one or two others."""
        if self.recent:
            parents = sorted({self.dice.choice(self.recent) for _ in range(2)})
            ending = self.dice.choice(["cancel", "run"])
            self._submit([{**self._job(), "depends_on": parents, "on_parent_failure": ending}])

    def cancel(self) -> None:
        if not self.recent:
            return
        job = self.dice.choice(self.recent)
        answer = self._ask("POST", f"/jobs/{job}/cancel", {})
        if answer is not None and answer.status_code == 200:
            told = answer.json()
            self.shop.history.note(CANCELLED, id=job, state=told["state"], cancelling=told["cancelling"])

    def replay(self) -> None:
        answer = self._ask("GET", f"/dlq?queue={self.shop.queue}")
        dead = answer.json()["results"] if answer is not None and answer.status_code == 200 else []
        if dead:
            job = self.dice.choice(dead)["job"]
            answer = self._ask("POST", f"/jobs/{job}/replay", {"revive_descendants": self.dice.random() < 0.7})
            if answer is not None and answer.status_code == 200:
                self.shop.history.note(REPLAYED, id=job)

    # --- how ---

    def _job(self, kind: str | None = None) -> dict[str, Any]:
        dice = self.dice
        seconds = dice.uniform(*(LONG if dice.random() < LONG_PART else SHORT))
        job: dict[str, Any] = {
            "type": kind or dice.choices(QUIET, (10, 4, 1, 1))[0],
            "payload": {"seconds": round(seconds, 3), "mark": str(uuid4())},
            "max_attempts": BUDGET,
            "max_losses": BUDGET,
        }
        if kind is None and dice.random() < DELAYED_PART:
            job["delay_seconds"] = round(dice.uniform(0.2, 3), 2)
        return job

    def _submit(self, jobs: list[dict[str, Any]]) -> None:
        """Submit; with a key until it is answered, without one only once: then nobody knows."""
        key = uuid4().hex if self.dice.random() < KEYED_PART else None
        path = f"/queues/{self.shop.queue}/jobs"
        alone = len(jobs) == 1
        path, body = (path, jobs[0]) if alone else (f"{path}/batch", {"jobs": jobs})
        answer = self._ask("POST", path, body, key=key)
        if key and self.dice.random() < LOST_PART:
            answer = None  # lost on its way
        while key and (answer is None or answer.status_code in COME_BACK) and not self.shop.closed.wait(AGAIN_AFTER):
            answer = self._ask("POST", path, body, key=key)
        if answer is None or answer.status_code not in (200, 201):
            return
        told = answer.json()
        for job, receipt in zip(jobs, [told] if alone else told["jobs"], strict=True):
            parents = job.get("depends_on", [])
            self.shop.history.note(SUBMITTED, id=receipt["id"], mark=job["payload"]["mark"], parents=parents)
            self.recent.append(receipt["id"])

    def _ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx.Response | None:
        """None where no answer came."""
        headers = {"Idempotency-Key": key} if key else {}
        self.asks = True
        try:
            answer = self.client.request(method, path, json=body, headers=headers)
        except httpx.TransportError:
            self.asked["none"] += 1
            return None
        finally:
            self.asks = False
        self.asked[str(answer.status_code)] += 1
        return answer
