"""Stages of one workflow publish at the same time: each thing once, and never two that wait for each other."""

from hashlib import sha256

import pytest

from apps.jobs import services
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.report import Ended, report
from apps.jobs.models import Job, Publication
from tests.acts import finish, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, let_lapse, reap_all, state
from tests.jobs.workflows import begin
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")
VERBS = {
    "pause": lambda film: services.pause_workflow(workflow=film, actor=ANN),
    "cancel": lambda film: services.cancel_workflow(workflow=film, actor=ANN),
}
MANY: dict[str, list[str]] = {f"j{n}": [] for n in range(24)}


def new(queue, number=1):
    return NewJob(queue_id=queue.pk, type="after", payload=f'{{"n":{number}}}')


def published():
    return list(Job.objects.filter(type="after"))


def test_a_stage_waits_for_another_that_publishes_the_same_and_makes_it_no_second_time(queue, session):
    film = begin(queue, {"a": [], "b": []})
    first, second = take(session, queue, limit=2)
    with meanwhile(lambda: finish(session, second, follow=(new(queue),), workflow_id=film.pk)):
        finish(session, first, follow=(new(queue),), workflow_id=film.pk)
    assert len(published()) == 1
    assert {state(first.job_id), state(second.job_id)} == {"completed"}


def test_if_the_first_is_undone_the_second_makes_it(queue, session):
    film = begin(queue, {"a": [], "b": []})
    first, second = take(session, queue, limit=2)
    with meanwhile(lambda: finish(session, second, follow=(new(queue),), workflow_id=film.pk), then="undo"):
        finish(session, first, follow=(new(queue),), workflow_id=film.pk)
    [job] = published()
    assert Publication.objects.get().job_id == job.pk
    finish(session, first)


def test_many_stages_that_publish_the_same_in_every_order_never_deadlock(queue):
    film = begin(queue, MANY)
    sessions = SessionFactory.create_batch(3, concurrency=100)
    hands = [take(one, queue, limit=8) for one in sessions]

    def ends(session, hand, turn):
        numbers = list(range(12))[::turn]
        for part in (hand[:3], hand[3:6], hand[6:]):
            report(
                ended=[
                    Ended(
                        one.job_id,
                        one.fence,
                        session.pk,
                        "success",
                        follow=tuple(new(queue, number) for number in numbers),
                        workflow_id=film.pk,
                    )
                    for one in part
                ]
            )

    together(
        *(
            lambda one=one, hand=hand, turn=turn: ends(one, hand, turn)
            for one, hand, turn in zip(sessions, hands, (1, -1, 1), strict=True)
        )
    )
    assert sorted(job.payload["n"] for job in published()) == list(range(12))


def test_keys_are_taken_in_one_order_whatever_the_order_of_publishing(queue, session):
    film = begin(queue, {"a": [], "b": [], "c": []})
    first, second, third = take(session, queue, limit=3)
    low, high = sorted((1, 2), key=lambda number: sha256(b'after\0{"n": %d}' % number).hexdigest())
    both = (new(queue, high), new(queue, low))
    with meanwhile(lambda: finish(session, second, follow=both, workflow_id=film.pk)) as published_both:
        finish(session, first, follow=(new(queue, low),), workflow_id=film.pk)
        published_both.meet()
        finish(session, third, follow=(new(queue, high),), workflow_id=film.pk)  # the second does not hold it yet
    assert published_both.exception() is None
    assert len(published()) == 2


def test_a_stage_that_is_reaped_while_it_reports_publishes_once_or_not_at_all(queue, session):
    film = begin(queue, {"a": []})
    lost = take_one(session, queue)
    let_lapse(session)
    with meanwhile(lambda: finish(session, lost, follow=(new(queue),), workflow_id=film.pk)) as reported:
        reap_all()
    assert (reported.result(), published(), Publication.objects.count()) == ([], [], 0)


@pytest.mark.parametrize(("verb", "expected"), [("pause", ["paused"]), ("cancel", ["cancelled"])])
def test_a_pause_or_cancel_that_meets_a_publication_finds_what_it_made(queue, session, verb, expected):
    film = begin(queue, {"a": []})
    taken = take_one(session, queue)
    with meanwhile(lambda: VERBS[verb](film)):
        finish(session, taken, follow=(new(queue),), workflow_id=film.pk)
    assert [job.state for job in published()] == expected


@pytest.mark.parametrize(("verb", "expected"), [("pause", ["paused"]), ("cancel", [])])
def test_a_publication_that_meets_a_pause_or_cancel_obeys_it(queue, session, verb, expected):
    film = begin(queue, {"a": []})
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken, follow=(new(queue),), workflow_id=film.pk)):
        VERBS[verb](film)
    assert [job.state for job in published()] == expected
