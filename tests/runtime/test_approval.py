"""Handlers that ask a person, in real workers: functions, coroutines and classes, in the worker and in executors."""

import pytest

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.jobs.services import submit
from tests.processes import final, until, worker

pytestmark = pytest.mark.parametrize("processes", ["0", "1"])
FAST = ("--poll-interval", "0.2", "--lease", "3", "--concurrency", "4")
KINDS = ("ask", "ask.async", "ask.class")
DRAFT = {"pages": [1, "é", 2.5]}


def asked(*ids):
    """Wait until these wait for a person."""
    until(lambda: Job.objects.filter(id__in=ids, state="awaiting_approval").count() == len(ids))


def test_it_asks_with_what_it_has_and_goes_on_from_there(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes):
        made = [submit(queue=queue, type=kind, payload=DRAFT, max_attempts=1).id for kind in KINDS]
        asked(*made)
        assert [find(job_id).result for job_id in made] == [DRAFT] * 3
        for job_id in made:
            services.approve(job_id=job_id, actor=SYSTEM, note="go on")
        ended = final(*made)
    expected = {"draft": DRAFT, "note": "go on", "attempt": 1}
    assert [(job.state, job.result) for job in ended] == [("completed", expected)] * 3
    for job_id in made:
        outcomes = Attempt.objects.filter(job_id=job_id).order_by("fence").values_list("outcome", "error_message")
        assert list(outcomes) == [("needs_approval", "Please look."), ("success", None)]
    assert not Job.objects.filter(type="noop").exists()  # what only asks has not succeeded


def test_what_it_asks_about_may_be_nothing_but_not_what_is_no_json(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes):
        silent = submit(queue=queue, type="ask", payload="silent").id
        wrong = submit(queue=queue, type="ask.async", payload="no json").id
        asked(silent)
        services.approve(job_id=silent, actor=SYSTEM)
        done, died = final(silent, wrong)
    assert done.result == {"draft": None, "note": "", "attempt": 1}
    assert died.state == "dead_letter"
    assert Attempt.objects.get(job_id=wrong).error_class == "ResultNotSerialisable"
