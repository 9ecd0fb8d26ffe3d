"""What becomes of a tick while the job of the one before has not ended."""

from datetime import timedelta

from apps.audit.models import Entry
from apps.jobs.states import CatchUp, Overlap
from tests.acts import finish, take, take_one
from tests.jobs.looks import look, state
from tests.jobs.schedules import MINUTELY, come_due, fire, job_ids, make_schedule, outcomes, ticks


def fire_twice(queue, session, **fields):
    """A job of the first tick runs when the second one comes; answers the schedule and the claim."""
    hourly = make_schedule(queue, **fields)
    come_due(hourly)
    fire()
    taken = take_one(session, queue)
    come_due(hourly)
    assert fire() == 1
    return hourly, taken


def test_skip_makes_none_and_says_which_job_is_in_the_way(queue, session):
    hourly, taken = fire_twice(queue, session)
    assert outcomes(hourly) == ["fired", "skipped"]
    assert str(taken.job_id) in ticks(hourly)[1].why
    finish(session, taken)
    come_due(hourly)
    fire()
    assert outcomes(hourly) == ["fired", "skipped", "fired"]


def test_skip_counts_a_job_that_waits_as_well(queue, session):
    hourly = make_schedule(queue)
    for _ in range(2):
        come_due(hourly)
        fire()
    assert outcomes(hourly) == ["fired", "skipped"]


def test_queue_lets_its_job_wait_until_the_one_before_has_ended(queue, session):
    hourly, taken = fire_twice(queue, session, overlap_policy=Overlap.QUEUE)
    second = job_ids(hourly)[1]
    assert (outcomes(hourly), state(second), take(session, queue)) == (["fired", "fired"], "blocked", [])
    finish(session, taken)
    assert take_one(session, queue).job_id == second


def test_queue_goes_on_when_the_one_before_fails_for_good(queue, session):
    hourly, taken = fire_twice(queue, session, overlap_policy=Overlap.QUEUE)
    finish(session, taken, outcome="permanent_error")
    assert take_one(session, queue).job_id == job_ids(hourly)[1]


def test_queue_makes_a_line_of_all_that_wait(queue, session):
    hourly, taken = fire_twice(queue, session, overlap_policy=Overlap.QUEUE)
    come_due(hourly)
    fire()
    _, second, third = job_ids(hourly)
    finish(session, taken)
    assert (state(second), state(third)) == ("queued", "blocked")


def test_cancel_running_asks_the_one_before_to_stop_and_waits_for_its_end(queue, session):
    hourly, taken = fire_twice(queue, session, overlap_policy=Overlap.CANCEL_RUNNING)
    second = job_ids(hourly)[1]
    assert look(taken.job_id).cancel_requested_at
    assert (state(second), take(session, queue)) == ("blocked", [])
    finish(session, taken, outcome="cancelled")
    assert (state(taken.job_id), take_one(session, queue).job_id) == ("cancelled", second)
    entry = Entry.objects.get(action="job.cancel")
    assert (entry.actor, entry.target_id) == ("system", str(taken.job_id))


def test_cancel_running_cancels_one_that_waits_at_once(queue):
    hourly = make_schedule(queue, overlap_policy=Overlap.CANCEL_RUNNING)
    for _ in range(2):
        come_due(hourly)
        fire()
    assert [state(one) for one in job_ids(hourly)] == ["cancelled", "queued"]


def test_cancel_running_makes_only_the_last_of_those_it_makes_up_for(queue):
    hourly = make_schedule(
        queue, MINUTELY, overlap_policy=Overlap.CANCEL_RUNNING, catchup_policy=CatchUp.FIRE_ALL, catchup_max=3
    )
    come_due(hourly, ago=timedelta(minutes=30))
    fire()
    assert outcomes(hourly)[-3:] == ["skipped", "skipped", "fired"]
    assert len(job_ids(hourly)) == 1


def test_the_jobs_that_wait_for_one_another_are_the_schedules(queue, session):
    hourly, _ = fire_twice(queue, session, overlap_policy=Overlap.QUEUE)
    assert [look(one).schedule_id for one in job_ids(hourly)] == [hourly.pk, hourly.pk]
