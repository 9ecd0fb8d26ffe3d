"""A worker of every queue serves one that is made while it is idle as soon as there is work in it."""

import asyncio

import pytest

from apps.jobs.engine.wake import hush
from apps.jobs.services import submit
from apps.runtime.supervisor import Options, serving
from apps.runtime.supervisor.listening import Listening
from apps.runtime.supervisor.serving import Serving
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from tests.factories import QueueFactory

pytestmark = pytest.mark.usefixtures("arena")
SOON = 10  # seconds: for a machine that is busy; the list is not read again by itself within an hour


@pytest.fixture(autouse=True)
def hourly(monkeypatch):
    monkeypatch.setattr(serving, "EVERY", 3600.0)


def woken(queue, later, *, only: tuple[str, ...] = ()) -> State:
    """A worker's state after a job was submitted to a queue that was made after it had read its list."""

    async def life() -> State:
        state = State(Options(queues=only))
        part = Serving(state, Wire("claims"))
        bell = state.pools[0].has_work
        await part.look()
        bell.clear()
        parts = [asyncio.create_task(part.run()), asyncio.create_task(Listening(state).run())]
        async with asyncio.timeout(SOON):
            await bell.wait()  # it listens
            bell.clear()
            made = await asyncio.to_thread(later)
            await asyncio.to_thread(submit, queue=queue if only else made, type="ping")
            await asyncio.to_thread(hush)
            await bell.wait()
        for one in parts:
            one.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
        return state

    return asyncio.run(life())


def late(queue):
    return QueueFactory.create(project=queue.project, name="late")


def test_it_reads_the_list_again_when_work_is_named_that_is_not_on_it(queue):
    state = woken(queue, lambda: late(queue))
    assert {name.split("/")[-1] for name in state.queues.values()} == {queue.name, "late"}


def test_one_that_serves_some_does_not(queue):
    state = woken(queue, lambda: late(queue), only=(queue_path(queue),))
    assert list(state.queues) == [queue.pk]


def queue_path(queue) -> str:
    return f"{queue.project.organization.slug}/{queue.project.slug}/{queue.name}"
