"""How jobs of remote workers end: once, whoever says it how often, and only by the holder of the fence."""

import pytest
from django.db import connection

from apps.jobs.engine.cancel import cancel
from apps.jobs.models import Attempt, Job
from apps.jobs.selectors import find
from apps.workers.models import Session
from tests import acts
from tests.api.caller import pointers
from tests.factories import QueueFactory
from tests.jobs.aims import workflow
from tests.remote.conftest import api_of, begin, pair

pytestmark = pytest.mark.django_db


def test_a_success_keeps_its_result(remote, queue):
    job_id = acts.enqueue(queue)
    assert remote.report(remote.one(), result={"width": 128}) == []
    job = find(job_id)
    assert (job.state, job.result) == ("completed", {"width": 128})


@pytest.mark.parametrize(
    ("outcome", "fields", "state", "attempt"),
    [
        ("retryable_error", {"error_class": "OSError", "error_message": "no"}, "retry_wait", 1),
        ("retryable_error", {"delay_ms": 0}, "queued", 1),
        ("permanent_error", {"error_class": "ValueError"}, "dead_letter", 1),
        ("timeout", {}, "retry_wait", 1),
        ("crashed", {}, "retry_wait", 1),
        ("snoozed", {"delay_ms": 60_000}, "scheduled", 0),
        ("released", {}, "queued", 0),
        ("cancelled", {}, "cancelled", 1),
    ],
)
def test_each_outcome_goes_where_a_local_one_goes(remote, queue, outcome, fields, state, attempt):
    job_id = acts.enqueue(queue)
    assert remote.report(remote.one(), outcome=outcome, **fields) == []
    job = find(job_id)
    assert (job.state, job.attempt) == (state, attempt)
    assert Attempt.objects.get(job_id=job_id).outcome == outcome


def test_the_same_report_again_is_applied_and_not_fenced(remote, queue):
    job_id = acts.enqueue(queue)
    job = remote.one()
    assert [remote.report(job, result=n) for n in range(3)] == [[], [], []]
    assert find(job_id).result == 0
    assert Attempt.objects.filter(job_id=job_id).count() == 1
    assert Session.objects.get(pk=remote.id).fenced_writes == 0


def test_another_outcome_than_the_one_that_was_applied_is_fenced(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    remote.report(job)
    assert remote.report(job, outcome="retryable_error") == [pair(job)]
    assert Session.objects.get(pk=remote.id).fenced_writes == 1


def test_of_two_outcomes_in_one_report_the_first_counts_and_the_second_is_fenced(remote, queue):
    job_id, other = acts.enqueue(queue), acts.enqueue(queue)
    job, fine = remote.one(), remote.one()
    said = [(job, "success"), (fine, "success"), (fine, "success"), (job, "retryable_error")]
    results = [{**pair(one), "outcome": outcome} for one, outcome in said]
    assert remote.said("report", results=results)["fenced"] == [pair(job)]
    assert (find(job_id).state, find(other).state) == ("completed", "completed")
    assert Session.objects.get(pk=remote.id).fenced_writes == 1


def test_a_success_that_is_named_twice_brings_along_what_it_was_first_named_with(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    results = [{**pair(job), "outcome": "success", "next_jobs": [{"type": name}]} for name in ("first", "second")]
    assert remote.said("report", results=results) == {"fenced": []}
    assert list(Job.objects.filter(state="queued").values_list("type", flat=True)) == ["first"]


def test_a_wrong_fence_and_anothers_session_move_nothing(api, remote, queue):
    job_id = acts.enqueue(queue)
    job = remote.one()
    other = begin(api, "w2")
    assert other.report(job) == [pair(job)]
    assert remote.report({**job, "fence": str(int(job["fence"]) + 1)})
    assert find(job_id).state == "running"


def test_an_organization_cannot_report_on_anothers_job(remote, queue):
    theirs = QueueFactory.create()
    job_id = acts.enqueue(theirs)
    own = begin(api_of(theirs.project.organization), "theirs")
    job = own.one()
    assert remote.report(job) == [pair(job)]
    assert find(job_id).state == "running"


def test_a_job_that_was_taken_away_is_fenced_and_the_others_are_not(remote, queue):
    for _ in range(3):
        acts.enqueue(queue)
    jobs = remote.claim()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job_live SET fence = fence + 1 WHERE id = %s", [jobs[1]["job"]])
    assert remote.report(*jobs) == [pair(jobs[1])]


def test_a_cancelled_job_ends_cancelled_whatever_is_said(remote, queue):
    job_id = acts.enqueue(queue)
    job = remote.one()
    cancel(job_id=job_id)
    assert remote.beat(job)["cancel"] == [pair(job)]
    assert remote.report(job) == []
    assert find(job_id).state == "cancelled"
    assert remote.report(job) == []


def test_a_success_brings_its_next_jobs_along_once(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    follow = [{"type": "sheet.add", "payload": {"n": 1}, "priority": 3}]
    for _ in range(2):
        assert remote.report(job, next_jobs=follow) == []
    [made] = Job.objects.filter(type="sheet.add")
    assert (made.queue_id, made.payload, made.priority) == (queue.pk, {"n": 1}, 3)


def test_a_next_job_that_goes_where_its_workflow_goes_is_said_again_like_any_other(remote, queue):
    workflow(queue, jobs=1)
    job = remote.one()
    other = acts.enqueue(queue)
    follow = [{"type": "sheet.add", "placement": "dispatch"}]
    assert remote.report(job, next_jobs=follow) == []
    late = remote.one()
    results = [{**pair(job), "outcome": "success", "next_jobs": follow}, {**pair(late), "outcome": "success"}]
    assert remote.said("report", results=results) == {"fenced": []}
    assert find(other).state == "completed"
    assert Job.objects.filter(type="sheet.add").count() == 1


def test_a_fenced_report_makes_nothing(api, remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    begin(api)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job_live SET fence = fence + 1")
    assert remote.report(job, next_jobs=[{"type": "x"}]) == [pair(job)]
    assert not Job.objects.filter(type="x").exists()


def test_dependents_wake(remote, queue):
    parent = acts.enqueue(queue)
    child = acts.enqueue(queue, depends_on=[parent])
    remote.report(remote.one())
    assert find(child).state == "queued"


def test_what_cannot_be_is_named(remote, queue, settings):
    settings.PAYLOAD_MAX_BYTES = 100
    acts.enqueue(queue)
    job = pair(remote.one())
    for wrong, pointer in (
        ({"outcome": "lost"}, "outcome"),
        ({"outcome": "success", "result": "x" * 200}, "result"),
        ({"outcome": "released", "result": 1}, "result"),
        ({"outcome": "success", "next_jobs": [{"type": "x", "depends_on": []}]}, "next_jobs/0/depends_on"),
        ({"outcome": "success", "next_jobs": [{"payload": 1}]}, "next_jobs/0/type"),
        ({"outcome": "snoozed", "delay_ms": -1}, "delay_ms"),
        ({"outcome": "success", "fence": 12}, "fence"),
        ({"outcome": "success", "fence": "9" * 30}, "fence"),
        ({"outcome": "success", "colour": "red"}, "colour"),
    ):
        refused = remote.ask("report", results=[{**job, "outcome": "success"}, {**job, **wrong}])
        found = pointers(refused)
        assert found[0].endswith(pointer), found


def test_long_errors_are_cut_and_say_so(remote, queue):
    job_id = acts.enqueue(queue)
    remote.report(remote.one(), outcome="permanent_error", error_class="E" * 300, error_message="m" * 5000)
    attempt = Attempt.objects.get(job_id=job_id)
    assert (attempt.error_message or "").endswith("characters cut]")
