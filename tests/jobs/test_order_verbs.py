"""Operators put waiting jobs in order: priority, time, place in line, next."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from uuid_utils.compat import uuid7

from apps.audit.models import Entry
from apps.errors import IllegalMove, NotFound
from apps.jobs import services
from apps.jobs.engine.promote import promote
from tests.acts import enqueue, finish, make_due, take, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, let_wait, look, order, run, state, told, told_of

VERBS = {
    "priority": lambda job_id: services.set_priority(job_id=job_id, actor=ANN, priority=5),
    "reschedule": lambda job_id: services.reschedule(job_id=job_id, actor=ANN),
    "move": lambda job_id: services.move(job_id=job_id, actor=ANN, to="top"),
    "run_next": lambda job_id: services.run_next(job_id=job_id, actor=ANN),
    "pause": lambda job_id: services.pause_job(job_id=job_id, actor=ANN),
    "resume": lambda job_id: services.resume_job(job_id=job_id, actor=ANN),
}


def jobs_of(queue, count, **fields):
    return [enqueue(queue, **fields) for _ in range(count)]


def line(queue):
    """The queue's line, without taking anybody from it."""
    found = run("SELECT id FROM jobs_job_live WHERE queue_id = %s AND state = 'queued' ORDER BY rank, id", [queue.pk])
    return [one for (one,) in found]


def move(job_id, to):
    return services.move(job_id=job_id, actor=ANN, to=to)


def entry(job_id):
    [found] = Entry.objects.filter(target_id=str(job_id))
    return found.action, found.before, found.after


@pytest.fixture
def ageing(project):
    return QueueFactory.create(project=project, aging_seconds=60)


# Priority


def test_a_job_made_more_urgent_stands_as_if_it_had_been_submitted_so(queue, session):
    first, second, third = jobs_of(queue, 3)
    services.set_priority(job_id=third, actor=ANN, priority=1)
    assert look(third).priority == 1
    assert order(session, queue) == [third, first, second]
    assert entry(third) == ("job.priority", {"priority": 0}, {"priority": 1})
    assert told_of(third)[:2] == ["job.enqueued", "job.priority_changed"]


def test_a_rank_shifts_by_the_ageing_its_row_has(ageing, session):
    first, second = jobs_of(ageing, 2)
    let_wait(first, 61)
    run("UPDATE queues_queue SET aging_seconds = 1 WHERE id = %s", [ageing.pk])  # not ranked anew yet
    before = look(second).rank
    services.set_priority(job_id=second, actor=ANN, priority=1)
    assert look(second).rank == before - 60_000_000
    assert order(session, ageing) == [first, second]


@pytest.mark.parametrize("state", ["queued", "scheduled", "blocked", "paused", "retry_wait"])
def test_whatever_waits_has_a_priority(state, queue, session):
    job_id = waiting_in(state, queue, session)
    services.set_priority(job_id=job_id, actor=ANN, priority=-7)
    assert (look(job_id).state, look(job_id).priority) == (state, -7)


def test_the_extremes_fit_also_after_a_job_was_put_first_by_hand(queue, session):
    most, other = enqueue(queue, priority=1000), enqueue(queue, priority=-1000)
    services.run_next(job_id=other, actor=ANN)
    for priority in (1000, 1000, -1000, 1000):
        services.set_priority(job_id=other, actor=ANN, priority=priority)
    services.run_next(job_id=most, actor=ANN)
    services.set_priority(job_id=most, actor=ANN, priority=-1000)
    assert sorted(order(session, queue)) == sorted([most, other])


# Time


def test_a_queued_job_is_put_off_and_brought_back(queue, session):
    job_id, other = jobs_of(queue, 2)
    services.reschedule(job_id=job_id, actor=ANN, delay_seconds=60)
    assert (state(job_id), take(session, queue, limit=1)[0].job_id) == ("scheduled", other)
    services.reschedule(job_id=job_id, actor=ANN)
    assert state(job_id) == "queued"
    assert look(job_id).run_at <= timezone.now()


def test_a_time_names_the_rank(queue, session):
    due = timezone.now() + timedelta(hours=1)
    late = enqueue(queue)
    services.reschedule(job_id=late, actor=ANN, run_at=due)
    assert look(late).rank == round(due.timestamp() * 1_000_000)
    early = enqueue(queue)
    make_due(late)
    promote(limit=10)
    assert order(session, queue) == [early, late]


def test_a_time_long_gone_buys_no_place_and_costs_none(queue, session):
    first, second, third = jobs_of(queue, 3)
    for job_id in (third, first):
        services.reschedule(job_id=job_id, actor=ANN, run_at=timezone.now() - timedelta(days=365))
    assert order(session, queue) == [first, second, third]


def test_a_retry_that_waits_is_given_another_time_or_none(queue, session):
    job_id = waiting_in("retry_wait", queue, session)
    services.reschedule(job_id=job_id, actor=ANN, delay_seconds=3600)
    assert state(job_id) == "retry_wait"
    services.reschedule(job_id=job_id, actor=ANN)
    assert state(job_id) == "queued"


@pytest.mark.parametrize(("delay", "then"), [(60, "scheduled"), (None, "queued")])
def test_a_paused_job_goes_on_at_its_new_time(delay, then, queue, session):
    job_id = enqueue(queue)
    services.pause_job(job_id=job_id, actor=ANN)
    services.reschedule(job_id=job_id, actor=ANN, delay_seconds=delay)
    assert state(job_id) == "paused"
    services.resume_job(job_id=job_id, actor=ANN)
    assert state(job_id) == then


def test_a_blocked_job_is_due_at_its_new_time_once_its_parents_are_done(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    services.reschedule(job_id=child, actor=ANN, delay_seconds=60)
    assert state(child) == "blocked"
    finish(session, take_one(session, queue))
    assert state(child) == "scheduled"


# Place in line


@pytest.mark.parametrize(
    ("who", "to", "then"),
    [
        (2, "up", [0, 2, 1, 3]),
        (2, "top", [2, 0, 1, 3]),
        (1, "down", [0, 2, 1, 3]),
        (1, "bottom", [0, 2, 3, 1]),
        (0, "up", [0, 1, 2, 3]),
        (3, "down", [0, 1, 2, 3]),
        (0, "top", [0, 1, 2, 3]),
        (3, "bottom", [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("gap", [0, 1, 2, 1000, 60_000_000])
def test_a_job_is_moved_in_line_however_close_it_stands(gap, who, to, then, queue):
    jobs = jobs_of(queue, 4)
    run(
        "UPDATE jobs_job_live AS job SET rank = 5000 + place * %s"
        " FROM unnest(%s::uuid []) WITH ORDINALITY AS u (id, place) WHERE job.id = u.id",
        [gap, jobs],
    )
    done = move(jobs[who], to)
    assert line(queue) == [jobs[place] for place in then]
    assert (done.before, done.after) == (who + 1, then.index(who) + 1)


def test_many_moves_in_a_bulk_of_equal_ranks_keep_everybody_elses_order(queue):
    jobs = jobs_of(queue, 60)
    run("UPDATE jobs_job_live SET rank = 77 WHERE queue_id = %s", [queue.pk])
    expected = list(jobs)
    for step, to in enumerate(["up", "down", "up", "top", "bottom", "up", "down"] * 12):
        job_id = jobs[step * 17 % 60]
        place = expected.index(job_id)
        expected.pop(place)
        goal = {"up": max(place - 1, 0), "down": min(place + 1, 59), "top": 0, "bottom": 59}[to]
        expected.insert(goal, job_id)
        move(job_id, to)
        assert line(queue) == expected, (step, to)


def test_room_is_made_by_moving_as_few_as_will_do(queue):
    jobs = jobs_of(queue, 30)
    run(
        "UPDATE jobs_job_live AS job SET rank = 5000 + place * 100 + CASE WHEN place > 20 THEN (20 - place) * 100 ELSE 0 END"
        " FROM unnest(%s::uuid []) WITH ORDINALITY AS u (id, place) WHERE job.id = u.id",
        [jobs],
    )  # the last eleven stand on one rank, the others far apart
    assert move(jobs[25], "up").rows == 1 + 5
    assert move(jobs[10], "up").rows == 1


def test_a_move_passes_only_its_own_kind(queue, session):
    urgent = enqueue(queue, priority=1)
    low, third, fourth = jobs_of(queue, 3)
    move(fourth, "top")
    assert line(queue) == [urgent, fourth, low, third]
    move(urgent, "bottom")
    assert line(queue) == [urgent, fourth, low, third]


def test_jobs_for_other_workers_are_another_kind(queue):
    _, second, third = jobs_of(queue, 3)
    run(
        "UPDATE jobs_job_live SET placement = 'job', required_worker = %(one)s, target = %(one)s WHERE id = %(id)s",
        {"one": uuid7(), "id": second},
    )
    assert (move(third, "up").before, move(second, "top").before) == (2, 1)


def test_a_move_says_its_place_to_the_audit_and_the_log(queue):
    jobs = jobs_of(queue, 3)
    move(jobs[2], "up")
    assert entry(jobs[2]) == ("job.move", {"place": 3}, {"place": 2, "to": "up"})
    assert [fact.data for fact in told("job.moved")] == [{"place": 2}]


# Next


def test_run_next_is_claimed_next_whatever_the_priority_of_others(queue, session):
    urgent, low = enqueue(queue, priority=1000), enqueue(queue, priority=-1000)
    services.run_next(job_id=low, actor=ANN)
    assert order(session, queue) == [low, urgent]


def test_of_two_that_shall_run_next_the_last_one_does(queue, session):
    jobs = jobs_of(queue, 4)
    for job_id in (jobs[2], jobs[3], jobs[3]):
        services.run_next(job_id=job_id, actor=ANN)
    assert order(session, queue) == [jobs[3], jobs[2], jobs[0], jobs[1]]


@pytest.mark.parametrize("waits", ["scheduled", "retry_wait"])
def test_what_waits_for_its_time_need_not_to_run_next(waits, queue, session):
    late = waiting_in(waits, queue, session)
    first = enqueue(queue)
    services.run_next(job_id=late, actor=ANN)
    assert order(session, queue) == [late, first]
    assert entry(late) == ("job.run_next", {"state": waits}, {"state": "queued"})


# What may not be


def waiting_in(state, queue, session):
    """A job that waits in this way."""
    if state == "blocked":
        return enqueue(queue, depends_on=[enqueue(queue)])
    if state == "retry_wait":
        job_id = enqueue(queue)
        finish(session, take_one(session, queue), outcome="retryable_error", delay_ms=60_000)
        return job_id
    job_id = enqueue(queue, delay_ms=60_000 if state == "scheduled" else None)
    if state == "paused":
        services.pause_job(job_id=job_id, actor=ANN)
    return job_id


@pytest.mark.parametrize("verb", VERBS)
def test_what_runs_or_has_ended_is_told_by_name(verb, queue, session):
    job_id = enqueue(queue)
    taken = take_one(session, queue)
    with pytest.raises(IllegalMove, match=r"running\.$"):
        VERBS[verb](job_id)
    finish(session, taken)
    with pytest.raises(IllegalMove, match=r"completed\.$"):
        VERBS[verb](job_id)
    assert not Entry.objects.filter(target_id=str(job_id)).exists()


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_there_is_not_found(verb, ground):
    with pytest.raises(NotFound):
        VERBS[verb](UUID("01a22857-0c1d-7be2-9d0a-3f5c8e6a1b20"))


@pytest.mark.parametrize("verb", ["move", "run_next"])
@pytest.mark.parametrize("waits", ["blocked", "paused"])
def test_what_does_not_queue_has_no_place_in_line(waits, verb, queue, session):
    with pytest.raises(IllegalMove, match=waits):
        VERBS[verb](waiting_in(waits, queue, session))
