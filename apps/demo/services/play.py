"""The demo, whole: people, pictures, processes, jobs."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import httpx
from django.core.management import call_command
from rich.console import Console

from apps.demo.services import cast as people
from apps.demo.services import inbox, show, video
from apps.demo.services.cast import Cast
from apps.demo.services.children import Children, children, free_port
from apps.demo.services.pictures import paint
from apps.demo.services.pipeline import Api, Door, Pipeline, Python, submit, watch
from apps.jobs.states import FINAL, JobState

SAMPLES, FILM = 48, "clip.mp4"
SLOTS = 4
GRACE = "10"  # seconds that what runs has to end in when the demo is ended; less than children.PATIENCE
UP_WITHIN = 60.0  # seconds

type Counted = dict[str, float]
type Asked = Callable[[Pipeline], None]


class NoPictures(Exception):
    """There is nothing to work on."""


def once(folder: Path | None, console: Console) -> Counted:
    """Run the pipeline with a worker of its own, approve what it asks about, and answer how it went."""
    cast, pictures = _prepare(folder)
    with children() as started:
        _start_worker(started, cast, name="demo-once")
        door = Python(cast)
        _, counted = _run(door, pictures, started, console, asked=door.approve)
    return counted


def serve(folder: Path | None, console: Console) -> NoReturn:
    """Run the pipeline through a site of its own, then keep serving until Ctrl-C."""
    cast, pictures = _prepare(folder)
    token = people.token(cast)
    with children() as started:
        address = _start_site(started)
        _start_worker(started, cast, name="demo")
        _wait_for(address, started)
        pipeline, counted = _run(Api(address, token, cast), pictures, started, console)
        console.print(show.outcome(counted))
        show.doors(console, address=address, token=token, cast=cast, pipeline=pipeline)
        while True:
            started.check()
            time.sleep(1)


def _prepare(folder: Path | None) -> tuple[Cast, list[str]]:
    pictures = inbox.pictures(_samples() if folder is None else _own(folder))
    if not pictures:
        raise NoPictures(f"There is no file in {folder}; subfolders and hidden files are not looked at.")
    call_command("migrate", verbosity=0, interactive=False)
    return people.call(), pictures


def _samples() -> str:
    folder = inbox.place() / "samples"
    if not folder.exists():
        paint(folder, SAMPLES)
    if video.there() and not (folder / FILM).exists():
        video.paint(folder / FILM)
    return folder.name


def _own(folder: Path) -> str:
    if not folder.is_dir():
        raise NoPictures(f"{folder} is not a folder.")
    return inbox.admit(folder)


def _start_worker(started: Children, cast: Cast, *, name: str) -> None:
    flags = ("--queue", cast.path, "--name", name, "--concurrency", str(SLOTS), "--grace", GRACE)
    started.start("worker", "manage.py", "runworker", *flags)


def _start_site(started: Children) -> str:
    port = free_port()
    flags = ("--host", "127.0.0.1", "--port", str(port), "--lifespan", "off", "--log-level", "warning")
    started.start("site", "-m", "uvicorn", "config.asgi:application", *flags)
    return f"http://127.0.0.1:{port}"


def _wait_for(address: str, started: Children) -> None:
    """Until the site answers anything at all."""
    until = time.monotonic() + UP_WITHIN
    with httpx.Client(trust_env=False) as client:
        while True:
            started.check()
            try:
                client.get(address)
            except httpx.TransportError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return


def _run(
    door: Door, pictures: list[str], started: Children, console: Console, *, asked: Asked | None = None
) -> tuple[Pipeline, Counted]:
    """Submit and watch. What waits for somebody's word is `asked` about; without anybody to ask, it is left waiting."""
    began = time.monotonic()
    pipeline = submit(door, pictures)
    with show.bar(console, pipeline.jobs) as seen:

        def look(states: Counter[str]) -> None:
            seen(states)
            started.check()
            if asked and states[JobState.AWAITING_APPROVAL]:
                asked(pipeline)

        states = watch(pipeline, look, over=FINAL if asked else {*FINAL, JobState.AWAITING_APPROVAL})
    counted: Counted = {
        "jobs": pipeline.jobs,
        "completed": states["completed"],
        "dead_letter": states["dead_letter"],
        "awaiting_approval": states["awaiting_approval"],
        "seconds": round(time.monotonic() - began, 3),
    }
    return pipeline, counted


def refusals() -> tuple[type[Exception], ...]:
    """What may go wrong in ways that a sentence explains."""
    from apps.demo.services import children, pipeline

    return (people.NotHere, NoPictures, children.Died, pipeline.Refused, pipeline.Stalled)
