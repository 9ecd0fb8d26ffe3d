"""Why a job waits: each gate says so while it is shut, and no longer; they stand in the order in which they must open."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils.timezone import now
from uuid_utils.compat import uuid7

from apps.jobs import services
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.engine.why import FAR
from apps.jobs.selectors.why import Gate, Waiting, why_waiting
from apps.queues import services as queues
from apps.queues.models import Gate as GateRow
from apps.queues.models import MinuteStat, PausedType, Queue
from apps.workers.models import Session
from tests import acts
from tests.factories import QueueFactory, SessionFactory, WorkerFactory
from tests.jobs.looks import ANN, let_wait, look, run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def worker(session):
    """One that knows the type, so that nothing else is in the way."""
    session.types = ["ping"]
    session.save()
    return session


def why(job_id: UUID) -> Waiting:
    waiting = why_waiting(look(job_id))
    assert waiting
    return waiting


def codes(job_id: UUID) -> list[str]:
    return [gate.code for gate in why(job_id).gates]


def gate(job_id: UUID, code: str) -> Gate:
    return next(one for one in why(job_id).gates if one.code == code)


def starts_in(job) -> timedelta:
    """How long until it may start, as it is guessed."""
    guessed = why(job).starts_at
    assert guessed
    return guessed - now()


def test_one_that_is_next_stands_in_line(queue):
    [only] = why(acts.enqueue(queue)).gates
    assert only.code == "in_line"
    assert "nothing of its queue is ahead" in only.says


def test_one_that_runs_or_has_ended_does_not_wait(queue, session):
    job = acts.enqueue(queue)
    taken = acts.take_one(session, queue)
    assert why_waiting(look(job)) is None
    acts.finish(session, taken)
    assert why_waiting(look(job)) is None


def test_one_that_is_not_due_says_when_it_is(queue):
    job = acts.enqueue(queue, delay_ms=3_600_000)
    [due] = why(job).gates
    assert (due.code, due.until) == ("due", look(job).run_at)
    acts.make_due(job)
    assert "due since" in gate(job, "due").says
    run("UPDATE jobs_job_live SET run_at = run_at - interval '1 minute'")
    assert "no scheduler" in gate(job, "due").says


def test_one_that_failed_says_which_attempt_and_when_the_next_is_due(queue, session):
    job = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="retryable_error")
    assert "Attempt 1 of 5 did not succeed; the next is due" in gate(job, "due").says


def test_one_that_is_blocked_names_its_parents_and_no_more_than_a_few(queue):
    parents = sorted(acts.enqueue(queue) for _ in range(7))
    job = acts.enqueue(queue, depends_on=parents)
    [waits] = why(job).gates
    assert (waits.code, list(waits.jobs)) == ("parents", parents[:5])
    assert f"7 parents: ping {parents[0]} (queued)" in waits.says
    assert "and 2 more" in waits.says


def test_of_several_parents_only_those_that_have_not_ended_are_waited_for(queue, session):
    first, second = acts.enqueue(queue), acts.enqueue(queue)
    job = acts.enqueue(queue, depends_on=[first, second])
    acts.finish(session, acts.take_one(session, queue))
    assert list(gate(job, "parents").jobs) == [second]


def test_approval_is_waited_for_after_the_parents(queue, session):
    parent = acts.enqueue(queue)
    job = acts.enqueue(queue, depends_on=[parent], requires_approval=True)
    assert codes(job) == ["parents", "approval"]
    acts.finish(session, acts.take_one(session, queue))
    assert codes(job) == ["approval"]


def test_a_paused_job_says_who_held_it_and_why_and_what_it_waits_for_besides(queue):
    job = acts.enqueue(queue, delay_ms=60_000)
    services.pause_job(job_id=job, actor=ANN, reason="look at it first")
    assert codes(job) == ["due", "paused"]
    held = gate(job, "paused")
    assert held.by == ANN.name
    assert held.since
    assert held.says.endswith(": look at it first.")


def test_a_paused_queue_says_who_why_and_until_when(queue):
    job = acts.enqueue(queue)
    until = now() + timedelta(hours=1)
    queues.pause(queue=queue, actor=ANN, reason="the printer burns", until=until)
    assert codes(job) == ["queue_paused", "in_line"]
    held = gate(job, "queue_paused")
    assert (held.by, held.until) == (ANN.name, until)
    assert "the printer burns" in held.says
    Queue.objects.update(paused_until=now() - timedelta(seconds=1))
    assert codes(job) == ["in_line"]


def test_a_paused_type_holds_its_jobs_in_every_queue_of_the_project_and_no_other(queue):
    job, other = acts.enqueue(queue), acts.enqueue(queue, type="pong")
    elsewhere = acts.enqueue(QueueFactory.create())
    PausedType.objects.create(
        project=queue.project, type="ping", paused_at=now(), paused_by="ann", pause_reason="the model is wrong"
    )
    held = gate(job, "type_paused")
    assert held.by == "ann"
    assert "The type ping is paused by ann" in held.says
    assert "type_paused" not in codes(other) + codes(elsewhere)
    PausedType.objects.update(paused_until=now() - timedelta(seconds=1))
    assert "type_paused" not in codes(job)


def test_a_type_that_no_worker_announces_says_since_when(queue, worker):
    job = acts.enqueue(queue, type="pong")
    assert "announces the type pong" in gate(job, "no_worker").says
    gone = SessionFactory.create(types=["pong"], ended_at=now() - timedelta(hours=2))
    assert gate(job, "no_worker").since == gone.ended_at
    Session.objects.filter(pk=worker.pk).update(lease_expires_at=now() - timedelta(seconds=1))
    assert "No live worker serves this queue" in gate(job, "no_worker").says


def test_workers_that_drain_serve_other_queues_or_other_organizations_do_not_count(queue, worker, organization):
    job = acts.enqueue(queue)
    Session.objects.filter(pk=worker.pk).update(draining=True)
    assert "drains" in gate(job, "no_worker").says
    Session.objects.filter(pk=worker.pk).update(draining=False, reservation_id=uuid7())
    assert "is reserved for a workflow" in gate(job, "no_worker").says
    Session.objects.filter(pk=worker.pk).update(reservation_id=None, queues=[uuid7()])
    assert "No live worker serves" in gate(job, "no_worker").says
    Session.objects.filter(pk=worker.pk).update(queues=[queue.pk])
    assert "no_worker" not in codes(job)
    worker.worker.organization = QueueFactory.create().project.organization
    worker.worker.save()
    assert "no_worker" in codes(job)


def test_a_full_cap_says_who_holds_it(queue, session):
    running, job = acts.enqueue(queue), acts.enqueue(queue)
    acts.take(session, queue, limit=1)
    for shard in (0, 1):
        GateRow.objects.create(queue=queue, shard=shard, cap=1, in_flight=1 - shard)
    run("UPDATE jobs_job_live SET shard = 0 WHERE id = %s", [running])
    assert "cap_full" not in codes(job)  # the other shard has room
    GateRow.objects.filter(shard=1).update(cap=0)
    full = gate(job, "cap_full")
    assert list(full.jobs) == [running]
    assert f"All 1 places of the queue are taken, by {running}." in full.says


def test_limits_as_the_engine_keeps_them_say_so_too(queue, session):
    queues.update(queue=queue, actor=ANN, max_concurrency=2, shards=2)
    first, _, job = acts.enqueue(queue), acts.enqueue(queue), acts.enqueue(queue)
    assert codes(job)[0] == "cap_counting"
    run("UPDATE queues_gate SET opens_after = NULL, refilled_at = clock_timestamp()")
    claim = {"session_id": session.pk, "queue_id": queue.pk, "offers": acts.OFFERS, "limit": 5}
    assert [codes(job)[0], len(claim_gated(**claim).jobs), codes(job)[0]] == ["in_line", 1, "in_line"]
    assert len(claim_gated(**claim).jobs) == 1
    assert gate(job, "cap_full").jobs[0] == first


def test_a_limit_that_is_new_says_that_it_is_not_open_yet(queue):
    job = acts.enqueue(queue)
    GateRow.objects.create(queue=queue, shard=0, cap=1, opens_after=1)
    assert codes(job) == ["cap_counting", "in_line"]


def test_a_full_key_says_who_runs_with_it(queue, session):
    running = acts.enqueue(queue)
    acts.take(session, queue)
    job = acts.enqueue(queue)
    run("UPDATE jobs_job_live SET concurrency_key = 'k', key_full = state = 'queued'")
    Queue.objects.update(max_per_key=1)
    full = gate(job, "key_full")
    assert list(full.jobs) == [running]
    assert "'k' run, or are next, as may run at once (1 of 1)" in full.says
    Queue.objects.update(max_per_key=2)
    assert "has a place free" in gate(job, "key_full").says
    assert "nothing of its queue is ahead" in gate(job, "in_line").says
    run("UPDATE jobs_job_live SET key_full = FALSE")
    assert "key_full" not in codes(job)


def test_a_rate_says_when_the_next_token_comes(queue):
    job = acts.enqueue(queue)
    Queue.objects.update(rate_per_second=0.1, burst=5)
    refilled_at = now()
    GateRow.objects.create(queue=queue, shard=0, tokens=0.5, refilled_at=refilled_at)
    until = gate(job, "rate").until
    assert until
    assert abs(until - refilled_at - timedelta(seconds=5)) < timedelta(seconds=0.1)
    GateRow.objects.update(refilled_at=now() - timedelta(seconds=6))
    assert "rate" not in codes(job)


def test_an_open_breaker_says_until_when_and_a_half_open_one_who_tries(queue):
    job, probe = acts.enqueue(queue), uuid7()
    until = now() + timedelta(minutes=5)
    GateRow.objects.create(queue=queue, shard=0, breaker="open", reopens_at=until)
    assert gate(job, "breaker_open").until == until
    assert "was opened by hand, until" in gate(job, "breaker_open").says
    GateRow.objects.update(trips=1)
    assert "too many jobs of the queue failed" in gate(job, "breaker_open").says
    GateRow.objects.update(breaker="half_open", probe_job=probe, probe_fence=1)
    assert list(gate(job, "breaker_half_open").jobs) == [probe]
    GateRow.objects.all().delete()
    assert codes(job) == ["in_line"]


def test_a_worker_it_is_bound_to_and_that_is_away_is_named(queue):
    bound = WorkerFactory.create(uid="press-1")
    job = acts.enqueue(queue, placement="job", required_worker=bound.pk)
    away = gate(job, "worker_offline")
    assert away.by == "press-1"
    last = SessionFactory.create(worker=bound, ended_at=now() - timedelta(hours=1))
    assert gate(job, "worker_offline").since == last.ended_at
    SessionFactory.create(worker=bound, types=["ping"])
    assert "worker_offline" not in codes(job)


def test_workers_without_a_free_slot_are_said_to_be_busy(queue, worker):
    Session.objects.filter(pk=worker.pk).update(concurrency=1)
    acts.enqueue(queue)
    acts.take_one(worker, queue)
    assert codes(acts.enqueue(queue)) == ["slots_taken", "in_line"]


def test_the_place_in_line_goes_by_rank_over_all_types(queue):
    first = acts.enqueue(queue, type="pong")
    job = acts.enqueue(queue)
    acts.enqueue(queue)
    acts.enqueue(QueueFactory.create(project=queue.project))
    urgent = acts.enqueue(queue, type="pang", priority=5)
    let_wait(first, 60)
    assert [why(one).position for one in (urgent, first, job)] == [1, 2, 3]
    assert "2 jobs of its queue are ahead" in why(job).says


def test_it_is_counted_so_far_and_no_further(queue):
    services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 900)
    services.submit_batch(queue=queue, jobs=[{"type": "pong"}] * 200)
    waiting = why(acts.enqueue(queue))
    assert (waiting.position, waiting.is_far) == (FAR + 1, True)
    assert "more than 1000" in waiting.says


def test_the_start_is_guessed_from_the_last_minutes_and_from_what_runs_else(queue, session):
    acts.enqueue(queue)
    acts.take_one(session, queue)
    run("UPDATE jobs_job_live SET started_at = clock_timestamp() - interval '10 s' WHERE state = 'running'")
    job = acts.enqueue(queue)
    assert starts_in(job) == pytest.approx(timedelta(seconds=10), abs=timedelta(seconds=1))
    MinuteStat.objects.create(queue=queue, minute=now() - timedelta(minutes=3), completed=500, failed=100)
    assert starts_in(job) == pytest.approx(timedelta(seconds=1), abs=timedelta(seconds=1))
    queues.pause(queue=queue, actor=ANN)
    assert why(job).starts_at is None


def test_gates_stand_in_the_order_in_which_they_open_and_the_first_is_the_answer(queue):
    job = acts.enqueue(queue, type="pong")
    queues.pause(queue=queue, actor=ANN, reason="the printer burns")
    GateRow.objects.create(queue=queue, shard=0, cap=0, breaker="open", reopens_at=now() + timedelta(hours=1))
    assert codes(job) == ["queue_paused", "no_worker", "cap_full", "breaker_open", "in_line"]
    assert "the printer burns" in why(job).says


def test_it_takes_one_statement(queue, django_assert_num_queries):
    job = look(acts.enqueue(queue))
    with django_assert_num_queries(1):
        why_waiting(job)
