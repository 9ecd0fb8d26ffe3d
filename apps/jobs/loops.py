"""What a scheduler does for jobs again and again. No leader: each loop may run anywhere, at once, again."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import close_old_connections

from apps.handlers import Loop
from apps.jobs import services
from apps.jobs.engine import prune
from apps.jobs.engine.admit import START, Key, admit, admit_due, batches
from apps.jobs.engine.cron import next_tick
from apps.jobs.engine.depth import depth
from apps.jobs.engine.late import LIMIT as LATE_LIMIT
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.outcomes import Watch
from apps.jobs.engine.partition import partition
from apps.jobs.engine.probes import probes
from apps.jobs.engine.promote import LIMIT, next_due, promote
from apps.jobs.engine.ready import NOWHERE
from apps.jobs.engine.reap import LIMIT as REAP_LIMIT
from apps.jobs.engine.reap import Outage, reap
from apps.jobs.engine.reconcile import reconcile
from apps.jobs.engine.rerank import LIMIT as RERANK_LIMIT
from apps.jobs.engine.rerank import rerank_statement
from apps.jobs.engine.rollup import rollup
from apps.jobs.engine.server import server
from apps.jobs.engine.summarize import LIMIT as SUMMARIES_LIMIT
from apps.jobs.engine.summarize import due, summarize
from apps.jobs.engine.wake import PROMOTER, payload, wake_statement
from apps.jobs.engine.wake_left import wake_left
from apps.jobs.services.complete import TURN as BATCHES_TURN
from apps.jobs.services.ticks import BATCH as CRON_LIMIT
from apps.queues.engine.rerank import rerank_due, rerank_settle

log = structlog.get_logger("fencepost.loops")

type Connection = psycopg.AsyncConnection[Any]

PROMOTE_SECONDS, CRON_SECONDS = 1.0, 1.0
REAP_SECONDS, REAP_SOONEST = 2.0, 0.25
AWAY_SECONDS = 1.0  # without touch: what is shorter is no outage for any lease
OUTAGES = 1000  # that are remembered
GATES_SECONDS, RECONCILE_SECONDS = 0.5, 30.0
DEPTH_SECONDS = 2.0
KEYS_SECONDS, KEYS_LONGEST = 1.0, 30.0
KEYS_WALKED = 1000  # in one statement
KEYS_REST = 10  # times as long as a walk took
RERANK_SECONDS, PAUSES_SECONDS = 2.0, 1.0
RESERVATIONS_SECONDS = 1.0
BREAKER_SECONDS, PROBES_SECONDS = 5.0, 0.5
JANITOR_SECONDS = 60.0
BATCHES_SECONDS = 1.0
ROLLUP_SECONDS = 10.0
SUMMARIES_SECONDS = 300.0
VANISH_SECONDS, VANISH_SOONEST = 5.0, 0.5
VANISH_REST = 2  # times as long as a turn took


async def promote_due(connection: Connection) -> float:
    """Promote what is due and wake its workers; sleep until the next job is, at most a second."""
    promoted = await promote.on(connection, limit=LIMIT)
    await let_through(connection, {(row.queue_id, key) for row in promoted for key in row.keys or ()})
    if promoted:
        await wake_statement.on(connection, queues=payload({row.queue_id for row in promoted}))
    if sum(row.jobs for row in promoted) >= LIMIT:
        return 0.0
    due = await next_due.on(connection)
    return max(due[0], 0.0) if due else PROMOTE_SECONDS


def fire_schedules() -> float:
    """Fire the schedules that are due, and judge deadlines; sleep until the next tick, at most a second."""
    fired, judged = services.fire_due(), services.judge_deadlines()
    if fired >= CRON_LIMIT or judged >= LATE_LIMIT:
        return 0.0
    [due] = next_tick() or [CRON_SECONDS]
    return due if due > 0 else CRON_SECONDS  # what is due still is somebody else's, or waits for a lock


class Reaper:
    """Remembers when it was out of touch with the server: an outage must not look like silence.

    A server on a new timeline is one it has never been in touch with. A mere reconnect changes nothing.
    It looks eight times in the shortest lease there is, so that what is no outage is seen to be none.
    """

    def __init__(self) -> None:
        self.timeline: str | None = None
        self.spoke_at = time.monotonic()
        self.outages: deque[tuple[float, float]] = deque(maxlen=OUTAGES)  # when each ended, and its length

    async def __call__(self, connection: Connection) -> float:
        [here] = await server.on(connection)
        now = time.monotonic()
        away = now - self.spoke_at if here.timeline == (self.timeline or here.timeline) else math.inf
        if away > AWAY_SECONDS:
            self.outages.append((now, away))
        self.timeline, self.spoke_at = here.timeline, now
        outages = [Outage(length=length, age=now - ended) for ended, length in self.outages]
        rows = await reap.on(connection, outages=outages, asked_at=here.now)
        if len(rows) >= REAP_LIMIT:
            return 0.0
        return min(max((here.shortest_lease or math.inf) / 8, REAP_SOONEST), REAP_SECONDS)


async def reap_silent(connection: Connection) -> float:
    """Take back what nobody runs any more."""
    return await _reaper(connection)


_reaper = Reaper()


async def open_new_gates(connection: Connection) -> None:
    """Open the gates of limits that are new, as soon as what runs behind them is counted."""
    after = NOWHERE
    while (tried := await open_gates.on(connection, after=after)) is not None:
        after, opened = tried
        if opened:
            await wake_statement.on(connection, queues=payload({after}))


async def count_anew(connection: Connection) -> None:
    """Compare what gates count with what runs, one queue at a time."""
    after = NOWHERE
    while (looked := await reconcile.on(connection, after=after)) is not None:
        after, drifts = looked
        for drift in drifts:
            log.error("gate counted wrong", **asdict(drift) | {"queue_id": str(drift.queue_id)})


async def let_through(connection: Connection, keys: Collection[Key]) -> None:
    """Let jobs of these keys through, and wake their workers."""
    for batch in batches(keys):
        admitted = await admit.on(connection, keys=batch)
        if admitted:
            await wake_statement.on(connection, queues=payload({row.queue_id for row in admitted}))


async def let_keys_through(connection: Connection) -> float:
    """Find keys with a place free for a job that waits: where its end, or a limit that changed, told nobody."""
    began, at = time.monotonic(), START
    while True:
        walked = await admit_due.on(connection, queue_id=at[0], key=at[1], limit=KEYS_WALKED)
        await let_through(connection, [(one.queue_id, one.key) for one in walked if one.due])
        if len(walked) < KEYS_WALKED:
            break
        at = walked[-1].queue_id, walked[-1].key
    return max(KEYS_SECONDS, (time.monotonic() - began) * KEYS_REST)


async def measure_depths(connection: Connection) -> None:
    """Keep the depth cache, for submits to capped queues and for whoever watches."""
    # A queue that is deleted meanwhile is left out by the next turn.
    with suppress(psycopg.errors.ForeignKeyViolation):
        await depth.on(connection)


async def rank_anew(connection: Connection) -> None:
    """Rank the jobs of queues whose ageing changed as if they had been submitted with it, batch by batch."""
    due = await rerank_due.on(connection)
    if not due:
        return
    queues, after, skipped = [one.queue_id for one in due], NOWHERE, 0
    while True:
        [span] = await rerank_statement.on(connection, queues=queues, after=after, limit=RERANK_LIMIT)
        skipped += span.skipped
        if span.upto is None or span.seen < RERANK_LIMIT:
            break
        after = span.upto
    if not skipped:  # else somebody held some: the next time
        await rerank_settle.on(connection, queues=queues, marks=[one.mark for one in due])


def settle_reservations() -> None:
    """Bind reservations to their workers, send back those whose worker is lost, and end those that are over."""
    services.settle_reservations()


def end_pauses() -> None:
    """Say that pauses are over whose time has come, and wake who waited for it."""
    services.end_pauses()


class Breakers:
    """Remembers how the last jobs ended, and looks often while a breaker is not closed."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.next_look = 0.0

    async def __call__(self, connection: Connection) -> float:
        if time.monotonic() >= self.next_look:
            for tripped in await self.watch.look.on(connection):
                await _beside(services.trip_breaker, tripped)
            self.next_look = time.monotonic() + BREAKER_SECONDS - PROBES_SECONDS
        shut, ended = await probes.on(connection)
        for probe in ended:
            await _beside(services.judge_probe, probe)
        return PROBES_SECONDS if shut else BREAKER_SECONDS


async def trip_and_try(connection: Connection) -> float:
    """Open the breakers of queues whose jobs fail, and close those whose probe did not."""
    return await _breakers(connection)


_breakers = Breakers()


async def _beside[T](call: Callable[[T], object], one: T) -> None:
    """Do what is rare, and written down, on Django's connection."""

    def act() -> None:
        close_old_connections()
        try:
            call(one)
        finally:
            close_old_connections()

    await asyncio.to_thread(act)


def follow_batches() -> float:
    """Make the jobs that follow batches which have ended."""
    return 0.0 if services.complete_batches() >= BATCHES_TURN else BATCHES_SECONDS


async def sum_up(connection: Connection) -> float:
    """Sum up how attempts ended, minute by minute; at once again while there are minutes left."""
    with suppress(psycopg.errors.ForeignKeyViolation):  # of a queue that is deleted meanwhile: the next turn
        turn = await rollup.on(connection)
        return 0.0 if turn and turn.is_behind else ROLLUP_SECONDS
    return 0.0


def summarize_failures() -> float:
    """Summarize what fails in queues in which something has failed since; at once again while there are more."""
    hours, asked = settings.FAILURE_WINDOW_HOURS, due(window_hours=settings.FAILURE_WINDOW_HOURS)
    for one in asked:
        summarize(one, window_hours=hours, writes=bool(settings.LLM_API_KEY))
    return 0.0 if len(asked) >= SUMMARIES_LIMIT else SUMMARIES_SECONDS


async def wake_what_is_left(connection: Connection) -> None:
    """Wake the dependents that one transaction could not, of very wide fan-outs."""
    await wake_left.on(connection)


def cut_days() -> None:
    """Keep the partitions ahead of the days, and no longer than anything in them is kept."""
    partition()
    prune.prune()


def discard_old() -> float:
    """Discard dead letters past their retention, and forget sessions, ticks and minutes of long ago."""
    prune.prune_sessions()
    prune.prune_ticks()
    prune.prune_minutes()
    return 0.0 if prune.prune_dead() else JANITOR_SECONDS


def carry_out_deletions() -> float:
    """Empty what was deleted, and drop it."""
    began = time.monotonic()
    left = services.carry_out()
    return max(VANISH_SOONEST, (time.monotonic() - began) * VANISH_REST) if left else VANISH_SECONDS


LOOPS = [
    Loop("promote", promote_due, seconds=PROMOTE_SECONDS, channel=PROMOTER),
    Loop("cron", fire_schedules, seconds=CRON_SECONDS),
    Loop("reap", reap_silent, seconds=REAP_SECONDS),
    Loop("keys", let_keys_through, seconds=KEYS_LONGEST),
    Loop("gates", open_new_gates, seconds=GATES_SECONDS),
    Loop("reconcile", count_anew, seconds=RECONCILE_SECONDS),
    Loop("depth", measure_depths, seconds=DEPTH_SECONDS),
    Loop("rerank", rank_anew, seconds=RERANK_SECONDS),
    Loop("pauses", end_pauses, seconds=PAUSES_SECONDS),
    Loop("reservations", settle_reservations, seconds=RESERVATIONS_SECONDS),
    Loop("breaker", trip_and_try, seconds=BREAKER_SECONDS),
    Loop("batches", follow_batches, seconds=BATCHES_SECONDS),
    Loop("rollup", sum_up, seconds=ROLLUP_SECONDS),
    Loop("summaries", summarize_failures, seconds=SUMMARIES_SECONDS),
    Loop("dependents", wake_what_is_left, seconds=5),
    Loop("deletions", carry_out_deletions, seconds=VANISH_SECONDS),
    Loop("janitor", discard_old, seconds=JANITOR_SECONDS),
    Loop("partitions", cut_days, seconds=3600),
]
