"""Executors without a database: a fork server and its processes in a process of their own, which tells what it saw."""

import json
import subprocess
import sys
import textwrap

import pytest
from django.conf import settings

BEGIN = """
import asyncio, json, os, resource, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
import uvloop
from datetime import UTC, datetime
from uuid_utils.compat import uuid7
from apps import handlers
from apps.jobs.engine.claim import Claim
from apps.runtime.executor import ForkServer, Processes, Run, Stop, main
import tests.workload.handlers
import apps.runtime.handlers

seen = []

def run(type, payload=None, **fields):
    claim = Claim(uuid7(), uuid7(), type, json.dumps(payload), 1, 3, 1, 1, datetime.now(UTC), 30.0, None, None)
    return Run(claim._replace(**fields), handlers.find(type), "a/b/c")

def on_end(run, ended):
    seen.append((run.claim.type, ended and ended.outcome, ended and ended.error_message))

def processes(count=1, **more):
    return Processes(server=server, count=count, slots=10, session_id=uuid7(), on_end=on_end,
                     on_broken=lambda: seen.append("broken"), **more)

async def until(holds):
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)

def go(main):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
    server.close()
    print(json.dumps(seen))
"""


def seen(text: str) -> list[object]:
    """Run this in a process of its own; answers what it appended to `seen`."""
    program = BEGIN + "server = ForkServer(main)\n" + textwrap.dedent(text) + "\ngo(story)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer: list[object] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_threads_that_run_already_are_named_and_nothing_is_forked():
    program = BEGIN + textwrap.dedent("""
        import threading
        threading.Thread(target=time.sleep, args=(60,), name="mine", daemon=True).start()
        from apps.errors import BadInput
        try:
            ForkServer(main)
        except BadInput as refusal:
            print(refusal)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=60
    )
    assert "--processes" in done.stdout
    assert "(mine)" in done.stdout


def test_without_descriptors_a_job_is_handed_back_and_executors_come_when_there_are_some_again():
    told = seen("""
        async def story():
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, limit[1]))
            some = processes()
            some.start(run("noop"))
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            await until(lambda: some.ready)
            some.start(run("noop"))
            await until(lambda: len(seen) == 2)
            some.close()
    """)
    assert told == [["noop", "released", "There was no process to run it in."], ["noop", "success", None]]


def test_an_executor_that_is_blocked_is_sent_nothing_more_until_it_answers():
    told = seen("""
        async def story():
            some = processes()
            some.start(run("freeze", 1.6))
            await asyncio.sleep(0)
            assert some.ready
            some.start(run("noop"))
            await until(lambda: not some.ready)
            seen.append("blocked")
            await until(lambda: some.ready)
            await until(lambda: len(seen) == 3)
            some.close()
    """)
    assert told == ["blocked", ["freeze", "success", None], ["noop", "success", None]]


@pytest.mark.chaos
def test_what_waits_for_a_blocked_executor_runs_in_another_and_only_there():
    told = seen("""
        async def story():
            some = processes(2)
            some.start(run("freeze", 6))  # in the first
            some.start(run("effect.none", 0))  # in the second, and over soon
            await until(lambda: len(seen) == 1)
            first = next(child for child in some.children.values() if child.runs)
            for _ in range(3):
                first.start(run("noop"))
            await until(lambda: len(seen) == 4)
            assert first.deaf
            await until(lambda: len(seen) == 5)
            await until(lambda: not first.deaf)
            await asyncio.sleep(0.1)  # it skips what was taken from it
            some.close()
    """)
    assert told == [
        ["effect.none", "success", None],
        *[["noop", "success", None]] * 3,
        ["freeze", "success", None],
    ]


@pytest.mark.chaos
def test_what_was_told_to_stop_while_it_waited_for_a_blocked_executor_is_not_begun_in_another():
    told = seen("""
        async def story():
            some = processes(2)
            some.start(run("freeze", 6))  # in the first
            some.start(run("effect.none", 0))  # in the second, and over soon
            await until(lambda: len(seen) == 1)
            first = next(child for child in some.children.values() if child.runs)
            stopped = [run("noop"), run("noop")]
            for one, why in zip(stopped, (Stop.CANCELLED, Stop.LOST)):
                first.start(one)
                some.stop(one, why)
            await until(lambda: len(seen) == 3)
            assert first.deaf
            await until(lambda: len(seen) == 4)
            some.close()
    """)
    assert told == [
        ["effect.none", "success", None],
        ["noop", "released", "Its process was blocked before it had begun."],
        ["noop", None, None],
        ["freeze", "success", None],
    ]


def test_work_is_shared_out_evenly():
    told = seen("""
        async def story():
            some = processes(3)
            for _ in range(9):
                some.start(run("effect.none", 1))
            seen.append(sorted(len(child.runs) for child in some.children.values()))
            some.close()
    """)
    assert told == [[3, 3, 3]]


@pytest.mark.parametrize(
    ("fields", "alone"),
    [
        ({}, False),
        ({"losses": 1}, True),
        ({"releases": 2}, False),
        ({"releases": 3}, True),
        ({"releases": 1, "attempt": 3}, True),
    ],
)
def test_a_suspect_runs_alone(fields, alone):
    told = seen(f"""
        async def story():
            some = processes()
            some.start(run("freeze", 0.2))
            some.start(run("noop", **{fields!r}))
            seen.append(any(child.alone for child in some.children.values()))
            await until(lambda: len(seen) == 3)
            await until(lambda: len(some.children) == 1)
            some.close()
    """)
    assert told[0] is alone


def test_a_job_that_was_not_begun_when_its_process_ended_is_handed_back():
    told = seen("""
        async def story():
            some = processes()
            some.start(run("end.now"))
            for _ in range(3):
                some.start(run("freeze", 60))
            await until(lambda: len(seen) == 4)
            some.close()
    """)
    assert told == [
        ["end.now", "crashed", "The process that ran it ended with exit status 7."],
        *[["freeze", "released", "Its process ended before it had begun."]] * 3,
    ]
