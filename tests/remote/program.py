"""A remote worker as somebody would write it: the client of the docs, and a few handlers. Run as a process by tests."""

import logging
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "clients"))

from fencepost_client import Discard, Job, Worker

logging.basicConfig(level=logging.INFO, format="%(message)s")
worker = Worker(
    sys.argv[1],
    token=os.environ["FENCEPOST_TOKEN"],
    uid=sys.argv[2],
    concurrency=int(sys.argv[3]),
    lease_seconds=float(sys.argv[4]),
    grace=float(os.environ.get("GRACE", "10")),
)


@worker.handler("ping")
def ping(job: Job) -> dict[str, int]:
    job.log("pong")
    return {"attempt": job.attempt}


@worker.handler("pause")
def pause(job: Job) -> str:
    """Takes its time, and says so."""
    end = time.monotonic() + float(job.payload["seconds"])
    while time.monotonic() < end and not job.cancelled:
        job.progress(1, 2, stage="pause")
        time.sleep(0.05)
    return "paused"


@worker.handler("wait")
def wait(job: Job) -> None:
    """Until a file is there."""
    while not Path(str(job.payload)).exists():
        time.sleep(0.02)


@worker.handler("sleep")
def sleep(job: Job) -> None:
    time.sleep(job.payload["ms"] / 1000)


@worker.handler("count")
def count(job: Job) -> None:
    """Far quicker than its heartbeats."""
    for done in range(1, 10):
        job.progress(done, 9)


@worker.handler("chain")
def chain(job: Job) -> None:
    job.enqueue("ping", {"after": job.id})


@worker.handler("bad")
def bad(job: Job) -> None:
    raise Discard("never")


@worker.handler("huge")
def huge(job: Job) -> str:
    return "x" * 1_000_000


@worker.handler("odd")
def odd(job: Job) -> object:
    """Answers or raises what nobody can keep."""
    if job.payload == "exit":
        raise SystemExit(0)
    if job.payload == "text":
        raise ValueError("boom \x00 and \ud800")
    if job.payload == "words":
        job.progress(-1, None, stage="a\0b" * 100, note={1})  # type: ignore[arg-type]
        job.log("\ud800")
        job.log({"a": 1}, level="loud")  # type: ignore[arg-type]
        time.sleep(2)  # heartbeats carry them
        return "kept"
    return {1, 2}


worker.run()
