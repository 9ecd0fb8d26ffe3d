"""The scheduler's beat: a loop runs when it asked to, and at once when its channel is notified."""

import asyncio
import threading
import time
from functools import partial

from django.db import connection

from apps.handlers import Loop
from apps.jobs.engine.promote import promote
from apps.jobs.engine.wake import PROMOTER, hush
from apps.jobs.loops import LOOPS
from apps.jobs.services import submit
from apps.runtime.runner import Runner
from apps.sql import open_own
from tests.processes import final, until, worker


class Beats:
    """A loop that counts its turns, in a scheduler of its own thread."""

    def __init__(self, seconds: float, channel: str = "") -> None:
        self.turns: list[float] = []
        loop = Loop("beats", self._turn, seconds=seconds, channel=channel)
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run(Runner([loop]))))

    async def _turn(self, _line):
        self.turns.append(time.monotonic())

    async def _run(self, runner):
        self.ended = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        task = asyncio.create_task(runner.run())
        await self.ended.wait()
        task.cancel()

    def __enter__(self):
        self.thread.start()
        until(lambda: self.turns)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.ended.set)
        self.thread.join(10)


def _at_least(beats, turns):
    return len(beats.turns) >= turns


def test_a_word_on_its_channel_wakes_a_loop_that_would_sleep_for_an_hour(arena):
    with Beats(3600, "beats") as beats:
        for turns in (2, 3):
            with connection.cursor() as cursor:
                cursor.execute("NOTIFY beats")
            until(partial(_at_least, beats, turns))


def test_a_job_that_is_due_soon_wakes_the_promoter_and_one_that_is_not_does_not(arena, queue):
    with open_own() as line:
        line.execute(f"LISTEN {PROMOTER}")
        for delay in (3600, 0, 0.5, 3600):
            submit(queue=queue, type="noop", delay_seconds=delay)
            hush()  # sends what there is
        assert len(list(line.notifies(timeout=0.5))) == 1


def test_the_promoter_listens():
    [loop] = [one for one in LOOPS if one.name == "promote"]
    assert loop.channel == PROMOTER


def test_a_retry_that_is_due_soon_is_told_to_the_promoter(own_database, tmp_path, queue):
    """Of another process: this worker runs no loops."""
    flags = ("--poll-interval", "0.2", "--processes", "0", "--no-scheduler")
    with worker(own_database, tmp_path, *flags), Beats(3600, PROMOTER) as beats:
        job = submit(queue=queue, type="fail", payload={"times": 1}, max_attempts=2)
        until(lambda: len(beats.turns) >= 2)
        until(lambda: promote(limit=1))
        final(job.id)
