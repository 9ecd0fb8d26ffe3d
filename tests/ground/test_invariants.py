"""Each invariant sees the fault it is there for, and only that one; and `manage.py invariants` says so."""

import json
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from apps.audit.models import Entry, Event, Head
from apps.audit.record import SYSTEM
from apps.audit.relay import relay
from apps.bench.services import invariants
from apps.bench.services.invariants import SAYS, broken
from apps.jobs import services
from apps.jobs.models import Batch, Dependency, Publication, Schedule, Tick, Workflow
from apps.jobs.selectors import find
from apps.jobs.states import MOVES, JobState
from apps.queues.models import Gate, Queue
from tests.acts import enqueue, finish, take, take_one

DONE, DIED, RUNS, RUNS_TOO, PARENT, CHILD = "done", "died", "runs", "runs too", "parent", "child"


@pytest.fixture
def world(own_database, queue, session):
    """A job in every kind of place, all as it should be."""
    own_database.must_hold = False
    ids = {DONE: enqueue(queue)}
    finish(session, take_one(session, queue))
    ids[DIED] = enqueue(queue)
    finish(session, take_one(session, queue), outcome="permanent_error")
    ids[RUNS], ids[RUNS_TOO] = enqueue(queue), enqueue(queue)
    take(session, queue, limit=2)
    ids[PARENT] = enqueue(queue)
    ids[CHILD] = enqueue(queue, depends_on=[ids[PARENT]])
    relay()
    assert broken() == []
    return ids


def plant(*texts, **params):
    """Change rows behind the backs of verbs and guards."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        for text in texts:
            cursor.execute(text, params)


def copy(table, where, change):
    """Add a changed copy of a row."""
    return (
        f"CREATE TEMPORARY TABLE planted ON COMMIT DROP AS SELECT * FROM {table} WHERE {where}",
        f"UPDATE planted SET {change}",
        f"INSERT INTO {table} SELECT * FROM planted",
    )


def only(name):
    """The offenders of the one invariant that is broken."""
    found = {one.name: one.ids for one in broken()}
    assert list(found) == [name]
    return found[name]


def test_a_job_on_two_shelves(world):
    plant(
        *copy("jobs_job", "id = %(id)s", "state = 'dead_letter', shelved_on = '9999-12-31'"),
        id=world[DONE],
    )
    assert only("one_shelf") == [str(world[DONE])]


def test_an_attempt_that_the_ledger_has_twice(world):
    plant(*copy("jobs_attempt", "job_id = %(id)s", "id = gen_random_uuid()"), id=world[DIED])
    assert only("one_entry_per_fence")[0].startswith(str(world[DIED]))


@pytest.mark.parametrize("fault", ["session_id = gen_random_uuid()", "started_at = now()", "deadline_at = now()"])
def test_a_waiting_job_that_somebody_holds(world, fault):
    plant(f"UPDATE jobs_job_live SET {fault} WHERE id = %(id)s", id=world[PARENT])
    assert only("running_is_held") == [str(world[PARENT])]


def test_a_gate_that_lost_count(world, queue):
    Gate.objects.create(queue=queue, shard=3, in_flight=1)
    plant("UPDATE jobs_job_live SET shard = 3 WHERE state = 'running'")
    assert only("gate_counts_all") == [f"{queue.pk}/3"]
    Gate.objects.update(in_flight=2)
    assert broken() == []


def test_a_cap_that_was_passed(world, queue):
    Gate.objects.create(queue=queue, shard=0, in_flight=2, cap=1)
    [offender] = only("cap_holds")
    assert offender.partition("/")[0] in {str(world[RUNS]), str(world[RUNS_TOO])}
    Gate.objects.update(cap=2)
    assert broken() == []


def test_a_cap_lowered_while_jobs_ran_was_not_passed(world, queue):
    Gate.objects.create(queue=queue, shard=0, in_flight=2, cap=1)
    Entry.objects.create(actor="x", action="queue.update", target_type="queue", target_id=str(queue.pk))
    assert broken() == []


def test_a_run_that_ended_before_the_next_began_does_not_count(world, queue):
    Gate.objects.create(queue=queue, shard=0, in_flight=2, cap=2)
    assert broken() == []


def test_a_key_of_which_more_may_be_claimed_than_its_queue_allows(world, queue):
    Queue.objects.filter(pk=queue.pk).update(max_per_key=1)
    plant("UPDATE jobs_job_live SET concurrency_key = 'k' WHERE state IN ('queued', 'running')")
    assert only("key_holds") == [f"{queue.pk}/k"]


def test_two_successes_in_one_generation(world):
    plant(*copy("jobs_attempt", "job_id = %(id)s", "id = gen_random_uuid(), fence = fence + 1"), id=world[DONE])
    assert only("one_success") == [f"{world[DONE]}/1"]


def test_a_success_in_each_of_two_generations_is_none(world):
    plant(
        *copy("jobs_attempt", "job_id = %(id)s", "id = gen_random_uuid(), fence = fence + 1, generation = 2"),
        id=world[DONE],
    )
    assert broken() == []


@pytest.mark.parametrize("name", [DONE, DIED])
def test_an_end_that_the_ledger_does_not_know(world, name):
    plant("DELETE FROM jobs_attempt WHERE job_id = %(id)s", id=world[name])
    assert only("final_is_accounted") == [str(world[name])]


def test_an_empty_ledger(world):
    plant("DELETE FROM jobs_attempt")
    assert set(only("final_is_accounted")) == {str(world[DONE]), str(world[DIED])}


def test_a_child_that_waits_for_one_parent_too_many(world):
    plant("UPDATE jobs_job_live SET pending = 2 WHERE id = %(id)s", id=world[CHILD])
    assert only("pending_counts_parents") == [str(world[CHILD])]


def test_a_parent_that_would_wake_nobody(world):
    [edge] = Dependency.objects.filter(child_id=world[CHILD])
    plant("UPDATE jobs_job_live SET has_dependents = FALSE WHERE id = %(id)s", id=edge.parent_id)
    assert only("parent_knows") == [str(edge.parent_id)]


def test_a_child_that_nobody_can_wake(world):
    Dependency.objects.update(settled_at=timezone.now())
    plant("UPDATE jobs_job_live SET pending = 0 WHERE id = %(id)s", id=world[CHILD])
    assert only("blocked_can_wake") == [str(world[CHILD])]


def circle(queue, length):
    """Jobs that wait for each other in a circle, which no verb would let them; and two that hang on it."""
    first = enqueue(queue)
    jobs = [first]
    for _ in range(length - 1):
        jobs.append(enqueue(queue, depends_on=[jobs[-1]]))
    behind = enqueue(queue, depends_on=[jobs[-1]])
    plant(
        "INSERT INTO jobs_dependency (parent_id, child_id) VALUES (%(last)s, %(first)s)",
        "UPDATE jobs_job_live SET pending = 1, state = 'blocked', has_dependents = TRUE WHERE id = %(first)s",
        "UPDATE jobs_job_live SET has_dependents = TRUE WHERE id = %(last)s",
        first=first,
        last=jobs[-1],
    )
    return jobs, behind


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_circle_is_named_and_can_be_cancelled(world, queue, length):
    jobs, behind = circle(queue, length)
    assert only("no_circle") == sorted(map(str, jobs))
    services.cancel(job_id=jobs[-1], actor=SYSTEM)
    assert {find(job_id).state for job_id in (*jobs, behind)} == {"cancelled"}
    relay()
    assert broken() == []


def test_one_job_of_a_circle_can_be_taken_out_of_it(world, queue):
    jobs, _ = circle(queue, 3)
    services.set_parents(job_id=jobs[1], actor=SYSTEM, depends_on=[])
    relay()
    assert broken() == []


def test_circles_are_told_from_what_hangs_on_them_and_what_they_hang_on():
    ways = [("a", "b"), ("b", "a"), ("c", "c"), ("d", "a"), ("e", "d"), ("b", "f"), ("f", "g"), ("h", "i")]
    assert invariants.circles(ways) == ["a", "b", "c"]


def test_a_hole_in_the_log(world, queue):
    middle = Event.objects.order_by("last_seq")[1]
    plant("DELETE FROM audit_event WHERE last_seq = %(seq)s", seq=middle.last_seq)
    after = Event.objects.filter(last_seq__gt=middle.last_seq).earliest("last_seq")
    assert only("events_are_dense") == [f"{queue.project_id}/{after.first_seq}"]


def test_a_number_given_out_twice(world, queue):
    plant(*copy("audit_event", "last_seq = 2", "at = at - interval '1 day'"))
    assert only("events_are_dense") == [f"{queue.project_id}/2"]


def test_a_head_that_fell_behind_its_log(world, queue):
    Head.objects.update(seq=1)
    assert only("events_are_dense") == [f"{queue.project_id}/head"]


@pytest.fixture
def ticks(queue):
    schedule = Schedule.objects.create(queue=queue, name="nightly", cron_expr="0 0 * * *", job_type="ping")
    when = timezone.now()

    def make(**fields):
        nonlocal when
        when += timedelta(days=1)
        return Tick.objects.create(schedule=schedule, scheduled_for=when, **fields)

    return make


def test_a_tick_that_fired_nothing(world, ticks):
    ticks(outcome="skipped")
    assert broken() == []
    ticks(outcome="fired")
    assert len(only("tick_has_one_job")) == 1


def test_two_ticks_with_one_job(world, ticks):
    job_id = uuid4()
    ticks(outcome="fired", job_id=job_id)
    assert broken() == []
    ticks(outcome="fired", job_id=job_id)
    assert len(only("tick_has_one_job")) == 1


def test_a_publication_of_another_workflows_job_and_two_of_one(world, queue):
    ours = Workflow.objects.create(project=queue.project)
    Publication.objects.create(workflow_id=ours.pk, key="a", job_id=world[PARENT])
    assert only("published_once") == [str(world[PARENT])]
    plant("UPDATE jobs_job_live SET workflow_id = %(flow)s WHERE id = %(id)s", flow=ours.pk, id=world[PARENT])
    assert broken() == []
    Publication.objects.create(workflow_id=ours.pk, key="b", job_id=world[PARENT])
    assert only("published_once") == [str(world[PARENT])]


def test_a_batch_that_is_followed_too_soon_and_two_by_one_job(world, queue):
    batches = [Batch.objects.create(project=queue.project, size=1, on_complete={"type": "x"}) for _ in range(2)]
    plant("UPDATE jobs_job_live SET batch_id = %(batch)s WHERE id = %(id)s", batch=batches[0].pk, id=world[PARENT])
    assert broken() == []
    Batch.objects.filter(pk=batches[0].pk).update(completed_at=timezone.now())
    assert only("batch_is_followed") == [str(batches[0].pk)]
    plant("UPDATE jobs_job_live SET batch_id = NULL")
    follower = uuid4()
    Batch.objects.update(on_complete_job=follower, completed_at=timezone.now())
    assert only("batch_is_followed") == [str(follower)]


def test_a_state_that_nobody_can_leave(world, monkeypatch):
    monkeypatch.setattr(invariants, "MOVES", {move: by for move, by in MOVES.items() if move[0] != JobState.QUEUED})
    assert only("live_can_leave") == [str(world[PARENT])]


def test_the_command_prints_one_object_and_fails(world):
    plant("UPDATE jobs_job_live SET pending = 2 WHERE id = %(id)s", id=world[CHILD])
    out = StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("invariants", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert stopped.value.code == 1
    assert (told["ok"], told["checked"]) == (False, len(SAYS))
    assert told["broken"][0]["ids"] == [str(world[CHILD])]


def test_the_command_is_content_where_all_holds(own_database):
    out = StringIO()
    call_command("invariants", stdout=out)
    assert out.getvalue() == f"{len(SAYS)} invariants hold.\n"
