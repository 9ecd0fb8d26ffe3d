"""A queue with work in it: refused with the counts, or gone at once and emptied behind the scenes. Case H34."""

from typing import Any

import pytest

from apps.accounts.models import Role
from apps.audit.models import Entry
from apps.errors import NotFound
from apps.jobs import services
from apps.jobs.engine import vanish as engine
from apps.jobs.models import Job, Tick, Workflow
from apps.queues.engine.served import served
from apps.queues.models import MinuteStat, Queue
from tests.acts import enqueue, finish, make_due, take
from tests.api.caller import Api, problem, someone
from tests.factories import QueueFactory
from tests.jobs.deletions import carry_out, fill, rows_of, turn, vanish
from tests.jobs.looks import look, reason, state, told
from tests.jobs.schedules import come_due

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(organization) -> Api:
    return someone(organization, Role.ADMIN)


def test_it_is_refused_with_the_counts_and_nothing_changes(queue, session, admin):
    full = fill(queue, session)
    refused = problem(admin.delete(f"queues/{queue.pk}"), 409, "in_use")
    assert refused["counts"] == full.counts
    assert admin.get(f"queues/{queue.pk}").json()["paused"] is None
    assert len(take(session, queue, limit=1)) == 1
    assert not Entry.objects.filter(action="queue.delete").exists()


@pytest.mark.parametrize("asked", ["cancel=1", "cancel=yes", "cancel=", "cancel=true&cancel=true", "force=true"])
def test_what_is_asked_is_taken_by_the_letter(queue, session, admin, asked):
    enqueue(queue)
    problem(admin.delete(f"queues/{queue.pk}?{asked}"), 400)
    problem(admin.delete(f"queues/{queue.pk}?cancel=false"), 409)
    assert Queue.objects.filter(pk=queue.pk).exists()


def test_it_is_gone_for_everybody_with_the_answer(queue, session, admin):
    full = fill(queue, session)
    schedule = queue.schedules.get()
    assert admin.delete(f"queues/{queue.pk}?cancel=true").status_code == 204
    assert take(session, queue) == []
    come_due(schedule)
    make_due(*full.waiting)
    assert services.fire_due() == 0
    for path in (
        f"queues/{queue.pk}",
        f"jobs?queue={queue.pk}",
        f"jobs/{full.queued[0]}",
        f"jobs/{full.dead[0]}",
        f"jobs/{full.running[0]}/logs",
        f"schedules/{schedule.pk}",
        f"dlq?queue={queue.pk}",
    ):
        problem(admin.get(path), 404, "not_found")
    problem(admin.post(f"dlq/{full.dead[0]}/replay"), 404)
    problem(admin.post(f"queues/{queue.pk}/jobs", {"type": "ping"}), 404)
    problem(admin.delete(f"queues/{queue.pk}?cancel=true"), 404)
    assert admin.get(f"projects/{queue.project_id}/queues").json()["results"] == []
    assert admin.get(f"jobs?project={queue.project_id}").json()["results"] == []
    assert admin.get(f"dlq?project={queue.project_id}").json()["results"] == []
    assert queue.pk not in {one.id for one in served(names=[])}
    with pytest.raises(NotFound):
        services.submit(queue="acme/media/images", type="ping")
    for jobs in (["a"], ["a", "b"]):
        with pytest.raises(NotFound):
            services.submit_batch(queue=queue, jobs=[{"type": one} for one in jobs])


def test_what_waits_is_cancelled_and_what_runs_is_asked_to_stop_and_waited_for(queue, session, admin):
    full = fill(queue, session)
    held = _held(full.running)
    admin.delete(f"queues/{queue.pk}?cancel=true")
    turn()
    assert {state(one) for one in (*full.queued, *full.waiting)} == {"cancelled"}
    assert {reason(one) for one in full.queued} == {"cancelled"}
    assert {(state(one), bool(look(one).cancel_requested_at)) for one in full.running} == {("running", True)}
    kept = rows_of(queue.pk)
    assert (kept["queues_queue"], kept["queues_failuresummary"]) == (1, 1)
    [asked] = told("job.cancel_requested")
    assert set(asked.job_ids) == set(full.running)
    assert {one.state for one in finish(session, *held)} == {"cancelled"}
    carry_out()
    assert rows_of(queue.pk) == {}
    assert not Tick.objects.exists()


def test_a_new_queue_of_that_name_starts_clean(queue, session, admin):
    full = fill(queue, session)
    admin.delete(f"queues/{queue.pk}?cancel=true")
    again = admin.post(f"projects/{queue.project_id}/queues", {"name": queue.name}).json()
    assert again["paused"] is None
    assert admin.get(f"jobs?queue={again['id']}").json()["results"] == []
    assert admin.get(f"queues/{again['id']}/schedules").json()["results"] == []
    mine = enqueue(Queue.objects.get(pk=again["id"]))
    turn()
    assert state(mine) == "queued"
    assert {state(one) for one in full.queued} == {"cancelled"}
    assert not MinuteStat.objects.filter(queue_id=again["id"]).exists()
    assert admin.get(f"queues/{again['id']}/failure-summary").json()["failures"] == []
    problem(admin.get(f"queues/{queue.pk}/failure-summary"), 404)


def test_it_goes_in_batches_and_goes_on_where_it_was_broken_off(queue, session, admin, monkeypatch):
    full = fill(queue, session)
    finish(session, *_held(full.running))
    admin.delete(f"queues/{queue.pk}?cancel=true")
    monkeypatch.setattr(vanish, "LIMIT", 7)
    walk = engine.vanish
    calls: list[Any] = []

    def break_off(**asked):  # as a kill between two batches does
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(asked)
        return walk(**asked)

    monkeypatch.setattr(engine, "vanish", break_off)
    with pytest.raises(KeyboardInterrupt):
        services.carry_out()
    assert 0 < Job.objects.filter(queue=queue, state="cancelled").count() <= 21
    monkeypatch.setattr(engine, "vanish", walk)
    carry_out()
    assert rows_of(queue.pk) == {}
    assert [sum(one in fact.job_ids for fact in told("job.cancelled")) for one in full.queued] == [1] * 50


def test_one_whose_time_is_up_is_gone_on_with_the_next_time(queue, session, admin, monkeypatch):
    fill(queue, session)
    admin.delete(f"queues/{queue.pk}?cancel=true")
    monkeypatch.setattr(vanish, "SECONDS", 0)
    assert services.carry_out()
    assert rows_of(queue.pk)["jobs_job_live"] == 58
    monkeypatch.setattr(vanish, "SECONDS", 20.0)
    assert services.carry_out()
    assert rows_of(queue.pk)["jobs_job_live"] == 3  # they run, and are asked to stop


def test_other_queues_keep_what_they_have(queue, session, admin):
    other = QueueFactory.create(project=queue.project)
    fill(queue, session)
    theirs = [enqueue(other, delay_ms=delay) for delay in (None, 60_000)]
    admin.delete(f"queues/{queue.pk}?cancel=true")
    turn()
    assert [state(one) for one in theirs] == ["queued", "scheduled"]


def test_children_elsewhere_follow_their_policy(queue, admin):
    other = QueueFactory.create(project=queue.project)
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    doomed = enqueue(other, depends_on=[child])
    anyway = enqueue(other, depends_on=[parent], on_parent_failure="run")
    admin.delete(f"queues/{queue.pk}?cancel=true")
    carry_out()
    assert [state(one) for one in (parent, child, doomed, anyway)] == ["cancelled", "cancelled", "cancelled", "queued"]


def test_jobs_in_every_state_go(queue, admin):
    asks: tuple[dict[str, Any], ...] = ({}, {"delay_ms": 60_000}, {"requires_approval": True}, {"concurrency_key": "k"})
    jobs = [enqueue(queue, **ask) for ask in asks]
    jobs.append(enqueue(queue, depends_on=[jobs[0]], on_parent_failure="run"))
    paused = enqueue(queue)
    admin.post(f"jobs/{paused}/pause", {"reason": "x"})
    admin.delete(f"queues/{queue.pk}?cancel=true")
    carry_out()
    assert {state(one) for one in (*jobs, paused)} == {"cancelled"}
    assert rows_of(queue.pk) == {}


def test_it_is_on_record_with_what_it_was_and_held(queue, session, admin):
    full = fill(queue, session)
    admin.delete(f"queues/{queue.pk}?cancel=true")
    entry: Any = Entry.objects.get(action="queue.delete")
    assert (entry.target_id, entry.before["name"]) == (str(queue.pk), "images")
    assert entry.before["cancelled"] == full.counts
    [fact] = told("queue.deleted")
    assert fact.project_id == queue.project_id


def test_an_empty_queue_needs_no_asking(queue, admin):
    assert admin.delete(f"queues/{queue.pk}").status_code == 204
    carry_out()
    assert rows_of(queue.pk) == {}


def _held(ids):
    jobs = Job.objects.filter(id__in=ids)
    return [type("Held", (), {"job_id": one.pk, "fence": one.fence}) for one in jobs]


def test_a_workflow_with_a_step_there_is_still_shown(queue, project, admin):
    other = QueueFactory.create(project=project, name="other")
    steps = [{"name": one.name, "queue": one.name, "type": "ping"} for one in (queue, other)]
    made = admin.post(f"projects/{project.pk}/workflows", {"name": "both", "jobs": steps})
    assert made.status_code == 201, made.content
    admin.delete(f"queues/{queue.pk}?cancel=true")
    turn()
    shown = admin.get(f"workflows/{Workflow.objects.get().pk}")
    assert shown.status_code == 200, shown.content


def test_a_batch_of_it_is_gone_for_callers_too(queue, admin):
    made = admin.post(f"queues/{queue.pk}/jobs/batch", {"jobs": [{"type": "ping"}] * 2}).json()
    assert admin.get(f"batches/{made['batch']}").status_code == 200
    admin.delete(f"queues/{queue.pk}?cancel=true")
    assert admin.get(f"batches/{made['batch']}").status_code == 404
