"""Case H32 in its own time: more urgent jobs than a worker can do, and two that nobody is in a hurry for.

The documented bound (docs/runbook.md): a job of a lower priority is passed by those alone that come within as many times
`aging_seconds` as it is levels below them. Whoever comes later waits behind it, however urgent.
"""

import os
import time

import pytest
from django.db import connection

from apps.jobs import services
from apps.jobs.models import Attempt, Job
from apps.jobs.states import JobState
from tests.factories import QueueFactory
from tests.processes import final, worker

pytestmark = pytest.mark.chaos

SHORT = os.environ.get("SHORT") == "1"
URGENT, LOW, LEAST = (5, 0, -10) if SHORT else (100, 0, -1000)
SECONDS, LATER = (25, 2) if SHORT else (1800, 60)  # of the stream, and when the two come into it
AGING = 1  # seconds a level is worth
PACE = 45  # jobs a second; the worker can do at most 40
AT_ONCE = 1.0  # seconds: a claim that is under way
FLAGS = ("--processes", "0", "--concurrency", "2", "--poll-interval", "1", "--lease", "15")

PASSED_BY = """
    SELECT count(*) FROM jobs_job AS job INNER JOIN jobs_attempt AS attempt ON attempt.job_id = job.id
    WHERE job.priority = %s AND job.created_at > %s + %s * interval '1 second' AND attempt.started_at < %s
"""


def passed_by(job: Job, *, levels: int) -> int:
    """How many of the urgent came too late to pass it, and did."""
    started = Attempt.objects.get(job_id=job.id).started_at
    with connection.cursor() as cursor:
        cursor.execute(PASSED_BY, [URGENT, job.created_at, levels * AGING + AT_ONCE, started])
        return int(cursor.fetchone()[0])


def test_under_a_stream_of_urgent_jobs_the_low_ones_run_within_their_ageing(
    own_database, tmp_path, project, record_property
):
    queue = QueueFactory.create(project=project, aging_seconds=AGING)
    slow = []
    with worker(own_database, tmp_path, *FLAGS):
        began = time.monotonic()
        for number in range(PACE * SECONDS):
            time.sleep(max(0.0, began + number / PACE - time.monotonic()))
            services.submit(queue=queue, type="effect.none", payload=0.05, priority=URGENT)
            if number == PACE * LATER:
                slow = [
                    services.submit(queue=queue, type="effect.none", payload=0.05, priority=one).id
                    for one in (LOW, LEAST)
                ]
        jobs = final(*slow, within=SECONDS)
    assert {job.state for job in jobs} == {JobState.COMPLETED}
    for job, priority in zip(jobs, (LOW, LEAST), strict=True):
        waited = (Attempt.objects.get(job_id=job.id).started_at - job.created_at).total_seconds()
        record_property(f"priority {priority}", f"waited {waited:.0f} s, {(URGENT - priority) * AGING} s of ageing")
        assert passed_by(job, levels=URGENT - priority) == 0
        assert waited >= (URGENT - priority) * AGING * 0.9, "there was nothing it had to wait for"
