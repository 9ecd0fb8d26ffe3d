"""Operators who race: with claims, with promotions, and with each other."""

import random
import time
from contextlib import suppress

import pytest
from django.db import transaction

from apps.audit.models import Entry
from apps.errors import IllegalMove
from apps.jobs import services
from apps.jobs.engine.claim import claim
from apps.jobs.engine.promote import promote
from apps.queues import services as queues
from tests.acts import enqueue, finish, make_due, take, take_one
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, look, run, state
from tests.races.stage import aside, meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")

CLAIMERS, JOBS = 4, 400


def line(queue):
    found = run("SELECT id FROM jobs_job_live WHERE queue_id = %s AND state = 'queued' ORDER BY rank, id", [queue.pk])
    return [one for (one,) in found]


def bulk(queue, count):
    return [one.job_id for one in services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * count).jobs]


# "Immediately": no claim that begins after the answer


PAUSES = {
    "queue": lambda queue, jobs: queues.pause(queue=queue, actor=ANN),
    "type": lambda queue, jobs: queues.pause_type(project=queue.project, type="ping", actor=ANN),
    "job": lambda queue, jobs: [pause_if_it_waits(job_id) for job_id in jobs],
}


def pause_if_it_waits(job_id):
    try:
        services.pause_job(job_id=job_id, actor=ANN)
    except IllegalMove:
        return False
    return True


@pytest.mark.parametrize("what", PAUSES)
def test_no_claim_that_begins_after_the_answer_takes_what_was_paused(what, queue):
    jobs = bulk(queue, JOBS)
    sessions = SessionFactory.create_batch(CLAIMERS, concurrency=JOBS)
    answered: list[float] = []

    def keep_claiming(session):
        """When each claim began, and what it got; until two have got nothing since the answer."""
        claims, in_vain = [], 0
        while in_vain < 2:
            began = time.monotonic()
            got = claim(session_id=session.pk, queues=[queue.pk], offers={"ping": None}, limit=1).jobs
            claims.append((began, [one.job_id for one in got]))
            in_vain += bool(answered and began > answered[0] and not got)
            assert len(claims) < 10_000, "the pause never held"
        return claims

    def pause():
        while len(line(queue)) > JOBS - 20:  # in full swing
            pass
        PAUSES[what](queue, jobs[-40:])
        answered.append(time.monotonic())

    *each, _ = together(*(lambda s=session: keep_claiming(s) for session in sessions), pause)
    claims = [one for some in each for one in some]
    taken = [job_id for _, got in claims for job_id in got]
    assert len(set(taken)) == len(taken)
    assert 0 < len(taken) < JOBS
    assert [got for began, got in claims if began > answered[0] and got] == []
    assert len([job_id for job_id in jobs if state(job_id) in ("queued", "paused")]) == JOBS - len(taken)


def test_a_pause_that_meets_a_claim_says_that_it_runs(queue, session):
    job_id = enqueue(queue)
    with meanwhile(lambda: services.pause_job(job_id=job_id, actor=ANN)) as paused:
        take_one(session, queue)
    assert "running" in str(paused.exception())
    assert isinstance(paused.exception(), IllegalMove)


def test_a_claim_passes_by_what_is_being_paused(queue, session):
    first, second = enqueue(queue), enqueue(queue)
    with transaction.atomic():
        services.pause_job(job_id=first, actor=ANN)
        assert [one.job_id for one in aside(lambda: take(session, queue))] == [second]
    assert state(first) == "paused"


def test_a_parents_end_that_meets_a_pause_of_its_child_is_counted(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    taken = take_one(session, queue)
    with meanwhile(lambda: finish(session, taken)):
        services.pause_job(job_id=child, actor=ANN)
    assert (look(child).state, look(child).resume_state, look(child).pending) == ("paused", "queued", 0)


def test_a_pause_that_meets_a_parents_end_remembers_the_state_after_it(queue, session):
    parent = enqueue(queue)
    child = enqueue(queue, depends_on=[parent])
    taken = take_one(session, queue)
    with meanwhile(lambda: services.pause_job(job_id=child, actor=ANN)):
        finish(session, taken)
    assert (look(child).state, look(child).resume_state) == ("paused", "queued")


# In line


def test_moves_at_once_are_moves_one_after_the_other(queue):
    """The audit's entries, in their order, lead from the line as it was to the line as it is."""
    jobs = bulk(queue, 24)
    run("UPDATE jobs_job_live SET rank = 1000 + (hashtext(id::text) & 3) WHERE queue_id = %s", [queue.pk])
    expected = line(queue)

    def shuffle(seed):
        pick = random.Random(seed)  # noqa: S311
        for _ in range(15):
            services.move(job_id=pick.choice(jobs), actor=ANN, to=pick.choice(["up", "down", "top", "bottom"]))

    together(*(lambda seed=seed: shuffle(seed) for seed in range(4)))
    for entry in Entry.objects.filter(action="job.move", target_id__in=map(str, jobs)).order_by("id"):
        place = next(place for place, job_id in enumerate(expected) if str(job_id) == entry.target_id)
        assert entry.before
        assert entry.after
        assert entry.before["place"] == place + 1
        expected.insert(entry.after["place"] - 1, expected.pop(place))
    assert line(queue) == expected


def test_a_move_that_needs_room_leaves_a_neighbour_alone_that_changes_meanwhile(queue):
    ahead, mover, behind = bulk(queue, 3)
    run("UPDATE jobs_job_live SET rank = 1000 WHERE queue_id = %s", [queue.pk])
    with meanwhile(lambda: services.move(job_id=behind, actor=ANN, to="up")) as moved:
        services.set_priority(job_id=ahead, actor=ANN, priority=-1)
    assert moved.result().after == 2
    assert look(ahead).rank == 1000 + 2**52
    assert line(queue) == [behind, mover, ahead]


def test_of_many_that_shall_run_next_at_once_each_was_once_the_first(queue):
    bulk(queue, 10)
    jobs = [enqueue(queue, priority=-5) for _ in range(6)]
    together(*(lambda job_id=job_id: services.run_next(job_id=job_id, actor=ANN) for job_id in jobs))
    assert set(line(queue)[:6]) == set(jobs)
    assert len({look(job_id).rank for job_id in jobs}) == 6


VERBS = [
    lambda pick, job_id: services.move(job_id=job_id, actor=ANN, to=pick.choice(["up", "down", "top", "bottom"])),
    lambda pick, job_id: services.run_next(job_id=job_id, actor=ANN),
    lambda pick, job_id: services.set_priority(job_id=job_id, actor=ANN, priority=pick.randint(-1000, 1000)),
    lambda pick, job_id: services.reschedule(job_id=job_id, actor=ANN, delay_seconds=pick.choice([0, 60])),
    lambda pick, job_id: services.pause_job(job_id=job_id, actor=ANN),
    lambda pick, job_id: services.resume_job(job_id=job_id, actor=ANN),
]


def test_while_operators_steer_all_is_handed_out_once_and_nobody_waits_for_ever(queue):
    jobs = bulk(queue, 200)
    sessions = SessionFactory.create_batch(2, concurrency=200)

    def steer(seed):
        pick = random.Random(seed)  # noqa: S311
        for _ in range(60):
            with suppress(IllegalMove):
                pick.choice(VERBS)(pick, pick.choice(jobs))
        return []

    def work(session):
        taken = []
        for _ in range(40):
            got = take(session, queue, limit=2)
            finish(session, *got)
            taken += [one.job_id for one in got]
        return taken

    answers = together(*(lambda s=seed: steer(s) for seed in range(3)), *(lambda s=s: work(s) for s in sessions))
    taken = [job_id for some in answers for job_id in some]
    assert len(set(taken)) == len(taken) > 0
    for job_id in jobs:
        if state(job_id) == "paused":
            services.resume_job(job_id=job_id, actor=ANN)
    make_due(*jobs)
    promote(limit=1000)
    last = SessionFactory.create(concurrency=500)
    assert {one.job_id for one in take(last, queue, limit=500)} == set(jobs) - set(taken)


def test_a_promotion_that_meets_a_new_time_lets_it_stand(queue):
    job_id = enqueue(queue, delay_ms=60_000)
    make_due(job_id)
    with transaction.atomic():
        services.reschedule(job_id=job_id, actor=ANN, delay_seconds=3600)
        assert aside(lambda: promote(limit=10)) == []
    assert promote(limit=10) == []
    assert state(job_id) == "scheduled"
