"""Replays that meet: each other, a purge, and the death of whoever replays (case H30)."""

import os
import signal
import sys
from subprocess import PIPE, Popen

import pytest
from django.db import transaction

from apps.audit.models import Entry
from apps.errors import IllegalMove
from apps.jobs import services
from apps.jobs.models import Job
from apps.sql import open_own
from tests.acts import enqueue, finish, take
from tests.factories import SessionFactory
from tests.jobs.looks import ANN, look, run, state
from tests.races import stage
from tests.races.stage import BLOCKED, together

pytestmark = pytest.mark.usefixtures("arena")
MANY = 60
VERY_MANY = 10_000 if os.environ.get("SHORT") == "1" else 100_000


@pytest.fixture
def dead(queue):
    """So many dead letters."""
    session = SessionFactory.create(concurrency=MANY)
    jobs = [enqueue(queue) for _ in range(MANY)]
    finish(session, *take(session, queue, limit=MANY), outcome="permanent_error")
    return jobs


def generations(jobs):
    return {one.generation for one in Job.objects.filter(id__in=jobs)}


def test_each_dead_letter_of_a_queue_that_many_replay_at_once_runs_once_more(queue, dead):
    def bulk():
        return services.replay_queue(queue=queue, actor=ANN, limit=1000).replayed

    def one_by_one():
        return sum(_replayed(job_id) for job_id in reversed(dead))

    assert sum(together(bulk, bulk, one_by_one)) == MANY
    assert generations(dead) == {2}
    assert {state(job_id) for job_id in dead} == {"queued"}


def _replayed(job_id):
    try:
        services.replay(job_id=job_id, actor=ANN)
    except IllegalMove:
        return False
    return True


def test_whoever_edits_the_payload_second_is_refused(queue, dead):
    def edit(text):
        def call():
            try:
                services.replay(job_id=dead[0], actor=ANN, payload=text)
            except IllegalMove:
                return None
            return text

        return call

    answers = together(*(edit(text) for text in "abcd"))
    [won] = [answer for answer in answers if answer]
    assert look(dead[0]).payload == won
    [entry] = Entry.objects.filter(action="job.replay", target_id=str(dead[0]))
    assert entry.after
    assert entry.after["payload"] == won


def test_a_purge_at_the_same_time_loses_and_doubles_nothing(queue, dead):
    together(
        lambda: services.replay_queue(queue=queue, actor=ANN, limit=1000),
        lambda: services.purge(queue=queue, actor=ANN),
    )
    assert Job.objects.filter(id__in=dead).count() == MANY
    assert {state(job_id) for job_id in dead} <= {"queued", "cancelled"}
    assert generations(dead) == {2}


@pytest.mark.bench
def test_very_many_are_replayed_by_two_while_the_filter_changes_and_each_runs_once_more(queue, monkeypatch):
    """In calls of a thousand, as the API takes them; what one filters by class the other takes without."""
    monkeypatch.setattr(stage, "PATIENCE", 300)
    run("SELECT set_config('fencepost.guard', 'off', FALSE)")
    run(DEAD, {"queue": queue.pk, "many": VERY_MANY})
    run("ANALYZE jobs_job_dead, jobs_attempt")

    def by_class():
        return _all_of(queue, error_class="Odd")

    assert sum(together(lambda: _all_of(queue), by_class)) == VERY_MANY
    assert run("SELECT generation, state, count(*) FROM jobs_job GROUP BY 1, 2") == [(2, "queued", VERY_MANY)]
    run("SELECT set_config('fencepost.guard', 'on', FALSE)")


def _all_of(queue, **how):
    replayed = 0
    while True:
        done = services.replay_queue(queue=queue, actor=ANN, limit=1000, **how)
        replayed += done.replayed
        if not done.more:
            return replayed


DEAD = """
WITH made AS (
    INSERT INTO jobs_job (
        id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, attempt, fence, state, reason,
        finished_at, shelved_on
    )
    SELECT
        ('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, %(queue)s, 'ping', '{}', now(), n, 1, 3, 100, 1, n,
        'dead_letter', 'attempts_exhausted', now(), '9999-12-31'
    FROM generate_series(1, %(many)s) AS n
    RETURNING id, queue_id, fence
)

INSERT INTO jobs_attempt (id, job_id, queue_id, fence, run_at, started_at, finished_at, generation, attempt, outcome, error_class)
SELECT
    gen_random_uuid(), id, queue_id, fence, now(), now(), now(), 1, 1, 'retryable_error',
    CASE fence %% 2 WHEN 1 THEN 'Odd' ELSE 'Even' END
FROM made
"""

REPLAY = """
import django; django.setup()
from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.services import replay_many
from apps.queues.models import Queue
replay_many.SOME = 7  # so that many are done when it comes to the one that is held
services.replay_queue(queue=Queue.objects.get(pk="{queue}"), actor=SYSTEM, limit=1000)
"""


def test_one_that_is_killed_in_the_middle_has_replayed_none_and_the_next_replays_each_once(arena, queue, dead):
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "DATABASE_URL": arena.url}
    with transaction.atomic():
        run("SELECT FROM jobs_job_dead WHERE id = %s FOR UPDATE", [dead[-1]])
        killed = Popen([sys.executable, "-c", REPLAY.format(queue=queue.pk)], env=env, stdout=PIPE, stderr=PIPE)
        with open_own() as watcher:
            while watcher.execute(BLOCKED).fetchone() == (0,):
                assert killed.poll() is None, killed.communicate()
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    assert {state(job_id) for job_id in dead} == {"dead_letter"}
    assert services.replay_queue(queue=queue, actor=ANN, limit=1000).replayed == MANY
    assert generations(dead) == {2}
