"""Case H32 with a worker that cannot keep up: the low job runs within the documented ageing, not after the flood."""

from threading import Event, Thread

import pytest
from django.db import connection, connections

from apps.jobs.models import Job
from apps.jobs.services import submit
from tests.factories import QueueFactory
from tests.processes import effects, until, worker

LEVELS, AGING = 3, 1  # a job of the flood is worth this many seconds of waiting: LEVELS × AGING
BACKLOG = 10  # urgent jobs that wait at every moment


def flood(queue, ended):
    """More urgent jobs than the worker serves, however quick the machine is: some always wait."""
    try:
        waiting = Job.objects.filter(shelved_on=None, queue_id=queue.pk, state="queued", priority=LEVELS)
        while not ended.wait(0.01):
            for _ in range(BACKLOG - waiting.count()):
                submit(queue=queue, type="effect", payload={"seconds": 0.05}, priority=LEVELS)
    finally:
        connections.close_all()


# By their claims: of two handlers that begin at once either may be the first to write. One claim is one moment.
STARTED_BEFORE = """
SELECT max(job.created_at) - low.created_at, count(*) FILTER (WHERE job.created_at > low.created_at)
FROM jobs_job AS low
INNER JOIN jobs_job AS job ON job.started_at < low.started_at - interval '1 ms'
WHERE low.id = %s GROUP BY low.created_at
"""


@pytest.mark.chaos
def test_a_low_job_runs_within_its_ageing_though_urgent_ones_never_end(own_database, tmp_path, project):
    queue = QueueFactory.create(project=project, name="busy", aging_seconds=AGING)
    ended = Event()
    urgent = Thread(target=flood, args=(queue, ended))
    with worker(own_database, tmp_path, "--concurrency", "2", "--poll-interval", "0.2"):
        urgent.start()
        try:
            until(lambda: len(effects()) > 20)
            low = submit(queue=queue, type="effect", payload={"seconds": 0.05}, priority=0)
            until(lambda: effects(low.id))
            assert urgent.is_alive()  # the flood goes on
        finally:
            ended.set()
            urgent.join(20)
        with connection.cursor() as cursor:
            cursor.execute(STARTED_BEFORE, [low.id])
            [(latest, passed)] = cursor.fetchall()
        assert passed > 0  # urgent ones that came later went first …
        assert latest.total_seconds() <= LEVELS * AGING + 0.01  # … but none that came later than its ageing
