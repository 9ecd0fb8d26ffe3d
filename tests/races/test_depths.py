"""Depths are measured while queues come and go, and by many schedulers at once."""

import asyncio

import pytest

from apps.jobs.engine.depth import depth
from apps.jobs.loops import measure_depths
from apps.queues.models import Depth, Queue
from apps.sql import open_async
from tests.acts import enqueue
from tests.factories import QueueFactory
from tests.jobs.looks import run
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")


def as_a_scheduler_does() -> None:
    async def turn() -> None:
        connection = await open_async()
        try:
            await measure_depths(connection)
        finally:
            await connection.close()

    asyncio.run(turn())


def test_a_queue_that_is_deleted_meanwhile_is_left_out_by_the_next_turn(queue):
    other = QueueFactory.create(project=queue.project)
    for one in (queue, other):
        enqueue(one)
    with meanwhile(as_a_scheduler_does) as measured:
        Queue.objects.filter(pk=other.pk).delete()
    assert measured.result() is None
    run("SELECT set_config('fencepost.guard', 'off', false)")
    run("DELETE FROM jobs_job_live WHERE queue_id = %s", [other.pk])
    depth()
    assert Depth.objects.get().queue_id == queue.pk


def test_of_eight_schedulers_at_once_one_measures(queue):
    enqueue(queue)
    assert sorted(map(len, together(*[depth] * 8))) == [0] * 7 + [1]
