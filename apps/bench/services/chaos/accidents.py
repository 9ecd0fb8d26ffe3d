"""The faults of processes: killed, frozen, told to end, doubled. Each strikes one, and notes itself which."""

import os
import signal
import time
from contextlib import suppress
from random import Random

import psutil

from apps.bench.services.chaos.crew import SCHEDULER, WEB, WORKER, Member
from apps.bench.services.chaos.diary import Line
from apps.bench.services.chaos.proxy import DOWN
from apps.bench.services.chaos.registry import fault
from apps.bench.services.chaos.stage import Stage
from apps.bench.services.chaos.work import HOSTILE, LONG_JOB

SUPERSEDED, SUPERSEDED_WITHIN = 3, 20.0  # the exit status of a worker whose name was taken, and seconds until then
FOUND_WITHIN = 5.0  # seconds
SECOND = 1000  # boots of a second process are counted from here on


@fault("kill-worker", one=True, brief=True)
def kill_worker(stage: Stage, dice: Random) -> int:
    """kill -9 a worker that runs jobs."""
    return _kill_busy(stage, dice)


def _kill_busy(stage: Stage, dice: Random) -> int:
    victim, began = stage.busy(dice), time.time()
    victim.kill()
    stage.strike("kill-worker", began, victim.boot)
    return len(stage.diary.running(victim.boot))


@fault("kill-executor", one=True, brief=True)
def kill_executor(stage: Stage, dice: Random) -> int:
    """kill -9 an executor that runs jobs."""
    found = [
        (line, member)
        for member in stage.crew.of(WORKER)
        if member.process is not None
        for line in stage.diary.running(member.boot)
        if line.pid != member.process.pid
    ]
    if not found:
        return 0
    (line, member), began = dice.choice(found), time.time()
    with suppress(ProcessLookupError):
        os.kill(line.pid, signal.SIGKILL)
    stage.strike("kill-executor", began, member.boot)
    return sum(one.pid == line.pid for one, _ in found)


@fault("kill-scheduler", one=True, brief=True)
def kill_scheduler(stage: Stage, dice: Random) -> int:
    """kill -9 a scheduler."""
    victim = dice.choice(stage.crew.of(SCHEDULER))
    lived = victim.lives
    victim.kill()
    return int(lived)


@fault("kill-web", one=True)
def kill_web(stage: Stage, dice: Random) -> int:
    """kill -9 the site in the middle of requests; half of the time after the commit, before the answer."""
    [web] = stage.crew.of(WEB)
    if dice.random() < 0.5:
        began, stage.proxy.held = time.time(), frozenset({DOWN})
        stage.hold(0.2)
        stage.strike("kill-web", began, None)
    stage.until(lambda: stage.shop.in_flight > 0, within=1.0)
    bit = stage.shop.in_flight
    web.kill()
    stage.proxy.calm()
    return bit


@fault("freeze-worker", one=True)
def freeze_worker(stage: Stage, dice: Random) -> int:
    """SIGSTOP a worker, with its executors or without them, and SIGCONT when another runs its job: a zombie wakes up."""
    stage.shop.orders.extend([LONG_JOB] * 3)
    stage.until(lambda: bool(_long_runs(stage)), within=FOUND_WITHIN)
    runs = dice.choice(_long_runs(stage) or [None])
    victim = next((one for one in stage.crew.of(WORKER) if runs and one.boot == runs.boot), None) or stage.busy(dice)
    began, running = time.time(), stage.diary.running(victim.boot)
    # Where its executors go on, it has something to report when it wakes up.
    frozen = _family(victim, whole=dice.random() < 0.5)
    try:
        _send(frozen, signal.SIGSTOP)
        stage.hold(stage.lease)
        stage.until(lambda: _taken_over(stage, running), within=FOUND_WITHIN)
    finally:
        _send(frozen, signal.SIGCONT)
    stage.strike("freeze-worker", began, victim.boot)
    return len(running)


def _long_runs(stage: Stage) -> list[Line]:
    members = stage.crew.of(WORKER)
    return [line for one in members for line in stage.diary.running(one.boot) if line.type == LONG_JOB]


def _taken_over(stage: Stage, before: list[Line]) -> bool:
    """Does another process run what these did?"""
    fences = {line.job: line.fence for line in before}
    return any(line.fence > fences.get(line.job, line.fence) for line in _long_runs(stage))


def _family(member: Member, *, whole: bool) -> set[int]:
    if member.process is None:
        return set()
    with suppress(psutil.NoSuchProcess):
        descendants = psutil.Process(member.process.pid).children(recursive=True) if whole else []
        return {member.process.pid, *(one.pid for one in descendants)}
    return set()


def _send(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@fault("term-worker", one=True)
def term_worker(stage: Stage, dice: Random) -> int:
    """TERM a worker: it lets its jobs end, and hands back what outlasts the grace."""
    return _term(stage, dice, times=1)


@fault("term-twice", one=True)
def term_twice(stage: Stage, dice: Random) -> int:
    """TERM a worker, and TERM again: it hands back at once."""
    return _term(stage, dice, times=2)


def _term(stage: Stage, dice: Random, *, times: int) -> int:
    victim, began = stage.busy(dice), time.time()
    boot = victim.boot
    bit = len(stage.diary.running(boot))
    for _ in range(times):
        victim.send(signal.SIGTERM)
        stage.hold(0.2)
    if not stage.until(lambda: victim.boot != boot, within=15):
        stage.crew.ends["worker deaf to TERM"] += 1
        victim.kill()
    stage.strike("term", began, boot)
    return bit


@fault("same-name", one=True)
def same_name(stage: Stage, dice: Random) -> int:
    """Start a second process under a worker's name: the first ends, and what it held is taken back."""
    first, began = stage.busy(dice), time.time()
    second = stage.worker(first.name, stage.processes[int(first.name[1:]) - 1])
    second.boots = first.boots + SECOND
    try:
        stage.crew.replace(first, second)
        stage.until(lambda: not first.lives, within=SUPERSEDED_WITHIN)
    finally:
        code = first.process.poll() if first.process is not None else None
        first.kill()
    stage.strike("same-name", began, first.boot)
    return int(code == SUPERSEDED)


@fault("six-reapers", one=True)
def six_reapers(stage: Stage, dice: Random) -> int:
    """Six reapers more, and a worker whose jobs they are to take back."""
    reapers = [stage.member("reaper", f"r{number}", "manage.py", "runreaper") for number in range(6)]
    for reaper in reapers:
        stage.add(reaper)
    try:
        stage.until(lambda: all(reaper.said("scheduler started") for reaper in reapers), within=15)
        bit = _kill_busy(stage, dice)
        stage.hold(stage.lease + 2.5)
    finally:
        for reaper in reapers:
            stage.crew.dismiss(reaper)
    return bit


@fault("hostile", one=True)
def hostile(stage: Stage, dice: Random) -> int:
    """Handlers that end, kill, fill or block their process."""
    before = _hostile_starts(stage)
    ordered = dice.sample(HOSTILE, 2)
    stage.shop.orders.extend(ordered)
    stage.until(lambda: _hostile_starts(stage) >= before + len(ordered), within=8)
    return _hostile_starts(stage) - before


def _hostile_starts(stage: Stage) -> int:
    stage.diary.look()
    return sum(line.what == "start" and line.type in HOSTILE for line in stage.diary.lines)
