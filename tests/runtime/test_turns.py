"""A real worker with one slot, and several tenants: whose jobs it takes in which order; and the cache of depths it keeps."""

from uuid import UUID

import pytest
from django.db import connection

from apps.jobs import services
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.ready import NOWHERE
from apps.queues import services as queues
from apps.queues.models import Depth, Gate, Queue
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.looks import ANN
from tests.processes import final, until, worker

ALONE = ("--concurrency", "1", "--poll-interval", "0.2", "--processes", "0")


def backlog(queue: Queue, jobs: int) -> list[UUID]:
    done = services.submit_batch(queue=queue, jobs=[{"type": "effect", "payload": {}}] * jobs)
    return [one.job_id for one in done.jobs]


def in_order() -> list[UUID]:
    """The jobs, as they started."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT job FROM effects ORDER BY id")
        return [job for [job] in cursor.fetchall()]


@pytest.mark.parametrize("cap", [None, pytest.param(50, marks=pytest.mark.chaos)])
def test_one_slot_is_shared_among_tenants_by_weight_and_no_backlog_starves_a_single_job(
    own_database, tmp_path, queue, cap
):
    heavy = QueueFactory.create(project=queue.project, weight=3)
    other = QueueFactory.create(project=ProjectFactory.create())
    for one in (queue, heavy, other):
        queues.update(queue=one, actor=ANN, max_concurrency=cap)
    until(lambda: open_all() == 0)
    light, many = backlog(queue, 30), backlog(heavy, 30)
    single = services.submit(queue=other, type="effect", payload={}).id
    with worker(own_database, tmp_path, *ALONE, "--no-scheduler"):
        final(*light, *many, single, within=60)
    started = in_order()
    assert started.index(single) < 8  # a round: one of its own, one of the light queue, three of the heavy one
    shares = [sum(job in jobs for job in started[:33]) for jobs in (set(light), set(many))]
    assert 6 <= shares[0] <= 10
    assert 22 <= shares[1] <= 26


def test_a_worker_of_many_queues_passes_by_what_it_does_not_know_and_reaches_all_it_does(own_database, tmp_path, queue):
    others = [QueueFactory.create(project=queue.project) for _ in range(40)]
    for one in others[:30]:
        services.submit(queue=one, type="unheard.of")
    jobs = [services.submit(queue=one, type="effect", payload={}).id for one in others[20:]]
    with worker(own_database, tmp_path, *ALONE, "--no-scheduler"):
        final(*jobs, within=20)
        late = services.submit(queue=others[0], type="effect", payload={}).id
        final(late, within=20)


def test_its_scheduler_keeps_the_depths(own_database, tmp_path, queue):
    services.submit_batch(queue=queue, jobs=[{"type": "unheard.of"}] * 3)
    with worker(own_database, tmp_path, *ALONE):
        until(lambda: Depth.objects.filter(queue=queue, queued=3).exists())
        services.purge(queue=queue, actor=ANN)
        until(lambda: Depth.objects.filter(queue=queue, queued=0, oldest_at=None).exists())


def test_neither_limited_nor_free_queues_starve_the_others_of_a_single_slot(own_database, tmp_path, queue):
    limited = QueueFactory.create(project=queue.project)
    queues.update(queue=limited, actor=ANN, max_concurrency=50)
    until(lambda: open_all() == 0)
    one, two = backlog(queue, 20), backlog(limited, 20)
    with worker(own_database, tmp_path, *ALONE, "--no-scheduler"):
        final(*one, *two, within=60)
    started = in_order()
    for jobs in (set(one), set(two)):
        assert 5 <= sum(job in jobs for job in started[:20]) <= 15


def open_all() -> int:
    """What a scheduler does for limits that are new; how many are still shut."""
    after = NOWHERE
    while (tried := open_gates(after=after)) is not None:
        after, _ = tried
    return Gate.objects.exclude(opens_after=None).count()
