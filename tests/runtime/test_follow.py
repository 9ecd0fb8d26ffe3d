"""Handlers that make further jobs, in real workers."""

import pytest

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.models import Attempt, Job
from apps.jobs.services import submit
from tests.processes import final, until, worker

pytestmark = pytest.mark.parametrize("processes", ["0", "1"])
FAST = ("--poll-interval", "0.2", "--lease", "3", "--concurrency", "4")
KINDS = ("follow", "follow.async")


def test_what_follows_runs_too_and_is_neither_lost_nor_doubled_by_a_retry(own_database, tmp_path, queue, processes):
    follow = [["noop", {"n": 1}, {}], ["noop", None, {"delay_seconds": 0.1}], ["noop", 2, {"concurrency_key": "k"}]]
    with worker(own_database, tmp_path, *FAST, "--processes", processes):
        made = [submit(queue=queue, type=kind, payload={"jobs": follow, "fails": kind == "follow"}) for kind in KINDS]
        final(*[job.id for job in made], within=30)
        until(lambda: not Job.objects.filter(shelved_on=None).exists())
    for job, attempts in zip(made, (2, 1), strict=True):
        assert Attempt.objects.filter(job_id=job.id).count() == attempts
        followers = Job.objects.filter(type="noop", request_id=job.request_id)
        assert {one.state for one in followers} == {"completed"}
    assert Job.objects.filter(type="noop").count() == 6


def test_what_a_stage_of_a_workflow_makes_is_of_it_and_is_made_once(own_database, tmp_path, queue, processes):
    same = [["noop", {"n": 1}, {}], ["noop", {"n": 1}, {}]]
    jobs = [
        {"name": kind, "queue": queue.name, "type": kind, "payload": {"jobs": same, "fails": kind == "follow"}}
        for kind in KINDS
    ]
    with worker(own_database, tmp_path, *FAST, "--processes", processes):
        made = services.submit_workflow(project=queue.project, jobs=jobs).workflow
        until(lambda: not Job.objects.filter(shelved_on=None).exists(), within=30)
    assert {job.state for job in Job.objects.filter(workflow_id=made.pk)} == {"completed"}
    assert Job.objects.filter(workflow_id=made.pk, type="noop").count() == 1


WRONG = {"colour": {"colour": 1}, "#/priority": {"priority": 5000}, "#/depends_on": {"depends_on": []}}
FLOODS = {"at most 1000 jobs": {"jobs": 1001, "bytes": 1}, "bytes in all": {"jobs": 80, "bytes": 250_000}}


def test_wrong_and_too_many_are_named_and_a_cancelled_one_makes_none(own_database, tmp_path, queue, processes):
    expected = {}
    with worker(own_database, tmp_path, *FAST, "--processes", processes):
        for kind in KINDS:
            for named, fields in WRONG.items():
                payload = {"jobs": [["noop", 1, fields]]}
                expected[submit(queue=queue, type=kind, payload=payload, max_attempts=1).id] = named
        for named, flood in FLOODS.items():
            expected[submit(queue=queue, type="follow.flood", payload=flood, max_attempts=1).id] = named
        stopped = submit(queue=queue, type="follow", payload={"jobs": [["noop", 1, {}]], "waits": True})
        until(lambda: Job.objects.filter(id=stopped.id, state="running").exists())
        services.cancel(job_id=stopped.id, actor=SYSTEM)
        final(stopped.id, *expected)
    for job_id, named in expected.items():
        assert named in (Attempt.objects.get(job_id=job_id).error_message or "")
    assert not Job.objects.filter(type="noop").exists()
