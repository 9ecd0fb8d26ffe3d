"""A run: phase A with faults, phase B without, then the judgement."""

import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from django.db import connections
from django.db.models import Sum

from apps.accounts.models import Role, User
from apps.accounts.selectors import caller_of_user
from apps.accounts.services import organizations, people, tokens
from apps.audit.record import Actor
from apps.bench.services.chaos.crew import crew, free_port
from apps.bench.services.chaos.customers import Shop
from apps.bench.services.chaos.diary import Diary
from apps.bench.services.chaos.history import History
from apps.bench.services.chaos.proxy import proxy
from apps.bench.services.chaos.registry import Fault
from apps.bench.services.chaos.server import ROLE, server
from apps.bench.services.chaos.stage import Stage
from apps.bench.services.chaos.truth import Story, judge, story
from apps.bench.services.ground import Ground, ground
from apps.bench.services.invariants import broken
from apps.jobs.models import Job
from apps.jobs.states import FINAL, JobState, Outcome
from apps.queues.models import Curve
from apps.queues.services import policies, queues
from apps.workers.models import Session

ACTOR = Actor(name="manage.py chaos")
CUSTOMERS, PACE = 2, 0.12  # how many, and seconds between two requests of one
LEASE = 2.0
READY_WITHIN, DRAINED_WITHIN = 60.0, 90.0
TOGETHER = 0.3  # how often a brief fault strikes in the middle of another
REST = (0.1, 0.8)  # seconds between two faults
FINE_ENDS = {"0", "-9", "-15", "3", "4", "42"}  # told to, killed, superseded, told to in an outage, a hostile handler


type Say = Callable[[str], object]


def chaos(
    *, seed: int, seconds: float, faults: Sequence[Fault], processes: tuple[int, ...], keep: bool, say: Say
) -> dict[str, Any]:
    """Run it; the answer has the keys that docs/testing.md explains, and `ok`."""
    load, dice = os.getloadavg(), random.Random(seed)  # noqa: S311 - to be repeated
    with _stage(dice, processes, keep=keep) as stage:
        began = time.monotonic()
        bites = _storm(stage, faults, seed, seconds, say)
        drained = _calm(stage)
        told = _judge(stage)
        return {
            "seed": seed,
            "faults": [fault.name for fault in faults],
            "processes": processes,
            **told,
            "bites": bites,
            "drained": drained,
            "ends": dict(stage.crew.ends),
            "answers": dict(stage.shop.asked),
            "connections": stage.proxy.accepted,
            "seconds": round(time.monotonic() - began, 1),
            "load": [round(value, 2) for value in load],
            **_verdict(told, bites, stage, drained=drained),
        }


# --- the two phases ---


def _storm(stage: Stage, faults: Sequence[Fault], seed: int, seconds: float, say: Say) -> dict[str, int]:
    """Phase A: every fault once in a shuffled order, then again in another; now and then a brief one within a long."""
    dice, began = random.Random(f"{seed}/faults"), time.monotonic()  # noqa: S311
    bites: Counter[str] = Counter({fault.name: 0 for fault in faults})
    deck, brief = list[Fault](), [fault for fault in faults if fault.brief]

    def strike(fault: Fault, own: random.Random) -> None:
        struck, started = time.time(), time.monotonic() - began
        bit = fault.strike(stage, own)
        if not fault.one:
            stage.strike(fault.name, struck, None)
        bites[fault.name] += bit
        say(f"{started:6.1f} s  {fault.name:<20} {time.time() - struck:4.1f} s  bit {bit}")

    while time.monotonic() < began + seconds and faults:
        deck = deck or dice.sample(list(faults), len(faults))
        fault, own = deck.pop(), random.Random(dice.random())  # noqa: S311
        second = own.choice(brief) if brief and own.random() < TOGETHER else None
        stage.aside = [lambda: strike(second, own)] if second else []  # noqa: B023 - taken back before the next
        strike(fault, own)
        stage.aside = []
        stage.hold(own.uniform(*REST))
    stage.hold(max(0.0, began + seconds - time.monotonic()))
    return dict(bites)


def _calm(stage: Stage) -> bool:
    """Phase B: no faults. Every request is answered, every job ends, everybody is back."""
    connections.close_all()  # ours was struck too
    answered = stage.shop.close(patience=DRAINED_WITHIN / 2)
    drained = stage.until(lambda: not Job.objects.exclude(state__in=FINAL).exists(), within=DRAINED_WITHIN)
    back = stage.until(lambda: _working() == len(stage.processes), within=READY_WITHIN)
    return answered and drained and back


def _working() -> int:
    return Session.objects.filter(ended_at=None, fenced_at=None).count()


# --- the judgement ---


def _judge(stage: Stage) -> dict[str, Any]:
    stage.diary.look()
    told = story(stage.shop.history.read(), stage.diary.lines, stage.strikes)
    truth, violations = judge(told), broken()
    return {
        **_counted(told),
        "lost_submissions": len(truth["lost_submissions"]),
        "double_successes": len(truth["double_successes"]),
        "invariant_violations": len(violations),
        "truth": truth,
        "invariants": [asdict(one) for one in violations],
    }


def _counted(told: Story) -> dict[str, Any]:
    outcomes = told.outcomes()
    states = Counter(told.jobs[job]["state"] for job in told.submitted if job in told.jobs)
    return {
        "submitted": len(told.submitted),
        "completed": states[JobState.COMPLETED],
        "dead": states[JobState.DEAD_LETTER],
        "cancelled": states[JobState.CANCELLED],
        "fenced": Session.objects.aggregate(sum=Sum("fenced_writes"))["sum"] or 0,
        "lost": outcomes[Outcome.LOST],
        "crashed": outcomes[Outcome.CRASHED],
        "outcomes": dict(outcomes),
    }


def _verdict(told: dict[str, Any], bites: dict[str, int], stage: Stage, *, drained: bool) -> dict[str, Any]:
    """What is wrong, in words; `ok` when nothing is."""
    wrong = [f"{name}: {len(found)}" for name, found in told["truth"].items() if found]
    wrong += [f"invariant {one['name']}: {one['says']}" for one in told["invariants"]]
    if not drained:
        wrong.append("not drained: a request without an answer, a job without an end, or a worker that is not back")
    if bites and not any(bites.values()):
        wrong.append("no fault bit")
    if not told["completed"]:
        wrong.append("nothing was completed")
    wrong += [f"ended by itself: {end}" for end in stage.crew.ends if end.rpartition(" ")[2] not in FINE_ENDS]
    if stage.shop.asked["500"]:
        wrong.append(f"the site answered 500: {stage.shop.asked['500']} times")
    return {"wrong": wrong, "ok": not wrong}


# --- the stage ---


@contextmanager
def _stage(dice: random.Random, processes: tuple[int, ...], *, keep: bool) -> Iterator[Stage]:
    """Server, database, proxy, processes and customers; all gone with this block."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(keep=keep))
        own = stack.enter_context(server())
        here = stack.enter_context(ground())
        stack.callback(own.revive)  # ground drops its database
        between = stack.enter_context(proxy(folder / ".s.PGSQL.5432", own.run / ".s.PGSQL.5432"))
        them = stack.enter_context(crew())
        url = f"postgres://{ROLE}:@/{quote(str(folder))}/{here.name}"
        (folder / "diary").touch()
        shop = _shop(here, folder)
        stack.callback(shop.history.close)
        stack.callback(shop.shut)
        stage = Stage(folder, url, LEASE, processes, own, between, them, shop, Diary(folder / "diary"))
        stage.open()
        stage.need(lambda: _working() == len(processes), within=READY_WITHIN, what="The workers are not ready")
        stage.need(lambda: _answers(shop.address), within=READY_WITHIN, what="The site is not ready")
        shop.open(CUSTOMERS, dice)
        yield stage


@contextmanager
def _folder(*, keep: bool) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fencepost-chaos-"))
    try:
        yield path
    finally:
        if not keep:
            shutil.rmtree(path, ignore_errors=True)


def _shop(here: Ground, folder: Path) -> Shop:
    """A queue whose retries come soon, and somebody who may submit to it."""
    project = here.queue.project
    policy = policies.create_policy(
        project=project, actor=ACTOR, name="soon", kind=Curve.FIXED, base_delay_ms=100, jitter=False
    )
    queues.update(queue=here.queue, actor=ACTOR, retry_policy=policy)
    member = people.register(email="chaos@bench.example", password=os.urandom(16).hex())
    organizations.add_member(
        organization=project.organization, actor=ACTOR, by=Role.OWNER, email=member.email, role=Role.MEMBER
    )
    _, text = tokens.create_token(
        by=caller_of_user(User.objects.get(pk=member.pk)), organization=project.organization, actor=ACTOR,
        scopes=["read", "submit", "operate"],
    )  # fmt: skip
    address = f"http://127.0.0.1:{free_port()}"
    return Shop(address, text, str(here.queue.pk), History(folder / "history"), PACE)


def _answers(address: str) -> bool:
    try:
        httpx.get(f"{address}/api/v1/jobs", trust_env=False, timeout=2)
    except httpx.TransportError:
        return False
    return True
