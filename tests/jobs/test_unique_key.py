"""A unique key: one live job of a queue holds it; whoever asks again is answered that job."""

from apps.jobs import services
from tests.acts import finish, take_one
from tests.factories import QueueFactory
from tests.jobs.looks import ANN, state, told


def submit(queue, key, **fields):
    return services.submit(queue=queue, type="ping", unique_key=key, **fields)


def test_the_second_is_answered_the_first(queue):
    first = submit(queue, "a.png", payload={"n": 1})
    second = submit(queue, "a.png", payload={"n": 2})
    assert (second.id, second.is_new, second.payload) == (first.id, False, {"n": 1})
    assert len(told("job.enqueued")) == 1


def test_a_running_job_holds_its_key_too(queue, session):
    first = submit(queue, "a.png")
    take_one(session, queue)
    again = submit(queue, "a.png")
    assert (again.id, again.state, again.is_new) == (first.id, "running", False)


def test_a_key_is_free_again_when_its_job_ends(queue, session):
    first = submit(queue, "a.png")
    finish(session, take_one(session, queue))
    second = submit(queue, "a.png")
    services.cancel(job_id=second.id, actor=ANN)
    third = submit(queue, "a.png")
    finish(session, take_one(session, queue), outcome="permanent_error")
    fourth = submit(queue, "a.png")
    assert len({first.id, second.id, third.id, fourth.id}) == 4
    assert state(third.id) == "dead_letter"


def test_another_queue_has_keys_of_its_own(queue):
    other = QueueFactory.create(project=queue.project)
    assert submit(queue, "a.png").id != submit(other, "a.png").id


def test_keys_are_compared_to_their_last_character(queue):
    long = "k" * 254
    assert submit(queue, long + "a").id != submit(queue, long + "b").id


def test_jobs_without_a_key_never_meet(queue):
    assert submit(queue, None).id != submit(queue, None).id
