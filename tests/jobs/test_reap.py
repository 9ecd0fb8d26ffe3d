"""The reaper: takes back what nobody runs, ends what runs too long, and takes nothing from the living."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.jobs import services
from apps.jobs.engine.reap import Outage, reap
from apps.jobs.engine.server import server
from apps.workers.models import Session
from tests.acts import enqueue, finish, take, take_one
from tests.factories import RetryPolicyFactory, SessionFactory
from tests.jobs.looks import (
    ANN,
    come_round,
    ledger,
    let_lapse,
    look,
    overrun,
    reap_all,
    reason,
    row,
    run,
    state,
    told,
)  # fmt: skip
from tests.processes import until


def verdicts(reported):
    return {done.job_id: (done.outcome, done.state) for done in reported}


def test_the_jobs_of_a_silent_session_are_lost_and_wait_for_another(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    let_lapse(session)
    assert verdicts(reap_all()) == {job_id: ("lost", "retry_wait")}
    job, [entry] = look(job_id), ledger(job_id)
    assert (job.state, job.attempt, job.losses, job.session_id) == ("retry_wait", 1, 1, None)
    assert (entry.outcome, entry.fence, entry.session_id) == ("lost", taken.fence, session.id)
    assert (entry.error_class, entry.error_message) == ("WorkerLost", "The worker fell silent: its lease ran out.")
    session.refresh_from_db()
    assert session.fenced_at is not None


def test_another_worker_then_runs_it_to_its_end(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    reap_all()
    come_round(job_id)
    other = SessionFactory.create()
    taken = take_one(other, queue)
    finish(other, taken)
    assert taken.attempt == 2
    assert [(one.attempt, one.outcome) for one in ledger(job_id)] == [(1, "lost"), (2, "success")]


def test_a_living_session_keeps_its_jobs(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    before = row(job_id)
    assert reap_all() == []
    assert row(job_id) == before
    session.refresh_from_db()
    assert session.fenced_at is None


def test_only_the_silent_lose_their_jobs(queue, session):
    other = SessionFactory.create()
    for _ in range(4):
        enqueue(queue)
    lost, kept = take(session, queue, limit=2), take(other, queue, limit=2)
    let_lapse(session)
    assert set(verdicts(reap_all())) == {one.job_id for one in lost}
    assert {state(one.job_id) for one in kept} == {"running"}


def test_a_second_sweep_finds_nothing_more(queue, session):
    enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    assert len(reap_all()) == 1
    assert reap_all() == []


def test_an_idle_session_that_fell_silent_is_left_alone(session):
    let_lapse(session)
    assert reap_all() == []
    session.refresh_from_db()
    assert session.fenced_at is None


@pytest.mark.parametrize("how", ["fenced_at", "ended_at"])
def test_what_a_session_left_behind_is_lost_at_once_grace_or_not(queue, session, how):
    job_id = enqueue(queue)
    take_one(session, queue)
    Session.objects.update(**{how: timezone.now()})
    assert verdicts(reap(outages=[Outage(length=60, age=0)])) == {job_id: ("lost", "retry_wait")}


def test_the_jobs_of_a_session_that_is_not_there_are_lost(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    Session.objects.all().delete()
    assert verdicts(reap(outages=[Outage(length=60, age=0)])) == {job_id: ("lost", "retry_wait")}
    assert ledger(job_id)[0].worker_id is None


def test_a_job_past_its_deadline_and_grace_is_timed_out_and_its_session_lives(queue, session, settings):
    late, within = enqueue(queue), enqueue(queue)
    take(session, queue)
    overrun(late, settings.DEADLINE_GRACE_SECONDS + 1)
    overrun(within, settings.DEADLINE_GRACE_SECONDS - 3)
    assert verdicts(reap(outages=[Outage(length=60, age=0)])) == {late: ("timeout", "retry_wait")}
    assert state(within) == "running"
    assert (ledger(late)[0].error_class, look(late).losses) == ("DeadlinePassed", 0)
    session.refresh_from_db()
    assert session.fenced_at is None


def test_the_last_attempt_past_its_deadline_is_the_end(queue, session):
    job_id = enqueue(queue, max_attempts=1)
    take_one(session, queue)
    overrun(job_id, 3600)
    assert verdicts(reap_all()) == {job_id: ("timeout", "dead_letter")}
    assert reason(job_id) == "attempts_exhausted"


def test_silent_and_too_late_is_lost(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    overrun(job_id, 3600)
    let_lapse(session)
    assert verdicts(reap_all()) == {job_id: ("lost", "retry_wait")}


def test_a_worker_that_keeps_dying_on_a_job_ends_it(queue):
    queue.retry_policy = RetryPolicyFactory.create(project=queue.project, max_losses=2)
    queue.save()
    job_id = enqueue(queue)
    for _ in range(2):
        session = SessionFactory.create()
        take_one(session, queue)
        let_lapse(session)
        reap_all()
        come_round(job_id)
    assert (state(job_id), reason(job_id)) == ("dead_letter", "lost_exhausted")
    assert [one.outcome for one in ledger(job_id)] == ["lost", "lost"]


def test_a_job_that_may_be_tried_once_is_not_tried_again_because_it_was_lost(queue, session):
    job_id = enqueue(queue, max_attempts=1)
    take_one(session, queue)
    let_lapse(session)
    reap_all()
    assert (state(job_id), reason(job_id)) == ("dead_letter", "lost_exhausted")


def test_a_job_that_was_to_be_cancelled_is_not_tried_again_because_it_was_lost(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    services.cancel(job_id=job_id, actor=ANN)
    let_lapse(session)
    assert verdicts(reap_all()) == {job_id: ("lost", "cancelled")}


def test_what_was_lost_is_next_before_ten_thousand_fresh_ones(queue, session):
    job_id = enqueue(queue, priority=5)
    take_one(session, queue)
    before = look(job_id).rank
    let_lapse(session)
    services.submit_batch(queue=queue, jobs=[{"type": "ping", "priority": 5}] * 50)
    reap_all()
    assert look(job_id).rank == before
    come_round(job_id)
    assert take_one(SessionFactory.create(), queue).job_id == job_id


def test_children_of_what_the_reaper_ended_hear_of_it_at_once(queue, session):
    parent = enqueue(queue, max_attempts=1)
    child, anyway = (enqueue(queue, depends_on=[parent], on_parent_failure=policy) for policy in ("cancel", "run"))
    take_one(session, queue)
    let_lapse(session)
    reap_all()
    assert (state(child), reason(child), state(anyway)) == ("cancelled", "parent_failed", "queued")


def test_a_sweep_takes_no_more_than_it_was_told_to(queue, session):
    jobs = {enqueue(queue) for _ in range(5)}
    take(session, queue)
    let_lapse(session)
    sweeps = [reap(limit=2) for _ in range(4)]
    assert [len(done) for done in sweeps] == [2, 2, 1, 0]
    assert {one.job_id for done in sweeps for one in done} == jobs


def test_it_is_told_as_one_fact(queue, session):
    jobs = {enqueue(queue) for _ in range(3)}
    take(session, queue)
    let_lapse(session)
    reap_all()
    [fact] = told("job.retry_wait")
    assert set(fact.job_ids) == jobs
    assert set(fact.errors or []) == {"WorkerLost: The worker fell silent: its lease ran out."}


def give_lease(seconds):
    """To every session; and wait until the server is older than that, for one that has just started spares everybody."""
    run("UPDATE workers_session SET lease_seconds = %s", [seconds])
    grown = "SELECT pg_postmaster_start_time() + %s * interval '1 second' < clock_timestamp()"
    until(lambda: run(grown, [seconds]) == [(True,)])


def test_a_reaper_that_has_just_met_its_server_takes_nothing_from_the_silent(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    give_lease(1)
    assert reap(outages=[Outage(length=60, age=0.9)]) == []
    assert state(job_id) == "running"
    assert verdicts(reap(outages=[Outage(length=60, age=1.0)])) == {job_id: ("lost", "retry_wait")}


@pytest.mark.parametrize(
    ("lease", "length", "excused"), [(2, 0.9, False), (2, 1.1, True), (8, 1.9, False), (8, 2.1, True)]
)
def test_an_outage_excuses_silence_when_it_is_long_for_the_lease(queue, session, lease, length, excused):
    """A quarter of the lease, and never less than a second: a loop that was late is no outage."""
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    give_lease(lease)
    other = Outage(length=1e12, age=lease + 1)
    assert (reap(outages=[other, Outage(length=length, age=lease - 1)]) == []) == excused
    assert state(job_id) == ("running" if excused else "retry_wait")


def test_a_reaper_whose_line_was_silent_since_it_asked_takes_nothing(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    give_lease(8)
    [here] = server()
    assert here.shortest_lease == 8
    assert reap(asked_at=here.now - timedelta(seconds=2)) == []
    assert verdicts(reap(asked_at=here.now)) == {job_id: ("lost", "retry_wait")}


def test_a_server_that_started_less_than_a_lease_ago_takes_nothing_from_the_silent(queue, session):
    job_id = enqueue(queue)
    take_one(session, queue)
    let_lapse(session)
    run(
        "UPDATE workers_session SET lease_seconds = extract(EPOCH FROM clock_timestamp() - pg_postmaster_start_time()) + 9"
    )
    assert reap() == []
    assert state(job_id) == "running"


def test_within_the_grace_a_session_that_beats_again_keeps_its_jobs(queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    let_lapse(session)
    reap(outages=[Outage(length=60, age=0)])
    finish(session, taken)
    assert state(job_id) == "completed"


@pytest.mark.parametrize(("leases_ahead", "left"), [(1.5, 1.5), (3, 1), (10_000, 1)])
def test_a_lease_of_another_servers_clock_is_cut_to_one_lease(queue, session, leases_ahead, left):
    enqueue(queue)
    take_one(session, queue)
    Session.objects.update(lease_expires_at=timezone.now() + timedelta(seconds=30 * leases_ahead))
    assert reap_all() == []
    session.refresh_from_db()
    assert (session.lease_expires_at - timezone.now()).total_seconds() == pytest.approx(30 * left, abs=3)
    assert session.fenced_at is None


def test_the_lease_of_a_session_that_is_over_is_not_touched(queue, session):
    enqueue(queue)
    take_one(session, queue)
    ahead = timezone.now() + timedelta(days=1)
    Session.objects.update(lease_expires_at=ahead, fenced_at=timezone.now())
    assert len(reap_all()) == 1
    session.refresh_from_db()
    assert session.lease_expires_at == ahead
