"""A worker of every queue serves one that is made while it is idle as soon as there is work in it."""

import asyncio
from uuid import uuid4

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


def woken(queue) -> State:
    """A worker's state after a job was submitted to a queue that was made after it had read its list."""

    async def life() -> State:
        state = State(Options())
        part = Serving(state, Wire("claims"))
        bell = state.pools[0].has_work
        await part.look()
        bell.clear()
        parts = [asyncio.create_task(part.run()), asyncio.create_task(Listening(state).run())]
        async with asyncio.timeout(SOON):
            await bell.wait()  # it listens
            bell.clear()
            made = await asyncio.to_thread(lambda: QueueFactory.create(project=queue.project, name="late"))
            await asyncio.to_thread(submit, queue=made, type="ping")
            await asyncio.to_thread(hush)
            while len(state.queues) == 1:
                await bell.wait()
                bell.clear()
        for one in parts:
            one.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
        return state

    return asyncio.run(life())


def test_it_reads_the_list_again_when_work_is_named_that_is_not_on_it(queue):
    state = woken(queue)
    assert {name.split("/")[-1] for name in state.queues.values()} == {queue.name, "late"}


@pytest.mark.parametrize(("only", "names"), [((), True), (("acme/media/images",), False)])
def test_only_who_serves_every_queue_has_strangers(only, names):
    state = State(Options(queues=only))
    state.queues = {(known := uuid4()): "acme/media/images"}
    listening = Listening(state)
    assert listening._names_strangers(f"{known},{uuid4()}") is names
    assert not listening._names_strangers(str(known))
    assert not listening._names_strangers("")


async def test_a_list_that_could_not_be_read_is_read_again(monkeypatch):
    state, looks = State(Options()), []
    part = Serving(state, Wire("claims"))

    async def look() -> None:
        looks.append(state.has_strangers.is_set())
        if len(looks) == 1:
            raise OSError

    monkeypatch.setattr(part, "look", look)
    state.has_strangers.set()
    running = asyncio.create_task(part.run())
    async with asyncio.timeout(SOON):
        await state.pools[0].has_work.wait()  # after the second look, which is no later than the first would be
    running.cancel()
    assert len(looks) == 2
