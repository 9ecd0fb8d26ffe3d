"""The guard of moves sees what no verb may do."""

import pytest
from django.db import DatabaseError, connection, transaction

from apps.jobs.engine.discard import discard
from apps.jobs.engine.replay import replay
from apps.jobs.models import Job
from apps.jobs.states import LIVE, MOVES, JobState
from tests.acts import enqueue, finish, take_one

pytestmark = pytest.mark.usefixtures("own_database")


def run(text, *params):
    with connection.cursor() as cursor:
        cursor.execute(text, params)


def test_a_whole_life_passes(queue, session):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="permanent_error")
    assert replay(delays_ms={job_id: 0})
    finish(session, take_one(session, queue))
    assert Job.objects.get(id=job_id).state == JobState.COMPLETED


def test_an_update_to_a_state_that_no_verb_leads_to_is_refused(queue):
    enqueue(queue)
    with pytest.raises(DatabaseError, match="illegal move queued -> retry_wait"):
        Job.objects.update(state=JobState.RETRY_WAIT)


def test_a_job_cannot_be_born_in_a_later_state(queue):
    enqueue(queue)
    with pytest.raises(DatabaseError, match="illegal move nothing -> retry_wait"):
        run(
            "INSERT INTO jobs_job_live (id, queue_id, run_at, rank, max_attempts, max_losses, max_snoozes, state, type,"
            " payload) SELECT gen_random_uuid(), queue_id, run_at, rank, 1, 1, 1, 'retry_wait', type, payload"
            " FROM jobs_job_live"
        )


def test_a_change_of_shelf_is_a_move_too(queue):
    enqueue(queue)
    with pytest.raises(DatabaseError, match="illegal move queued -> completed"):
        run(
            "WITH gone AS (DELETE FROM jobs_job_live RETURNING *) INSERT INTO jobs_job (id, queue_id, run_at, rank,"
            " max_attempts, max_losses, max_snoozes, type, payload, state, finished_at, shelved_on)"
            " SELECT id, queue_id, run_at, rank, 1, 1, 1, type, payload, 'completed', now(),"
            " (now() AT TIME ZONE 'UTC')::date FROM gone"
        )


def test_a_live_job_cannot_vanish(queue):
    enqueue(queue)
    with pytest.raises(DatabaseError, match="vanished while queued"), transaction.atomic():
        run("DELETE FROM jobs_job_live")
    assert Job.objects.count() == 1


def test_a_dead_letter_may_be_discarded(queue, session):
    job_id = enqueue(queue)
    finish(session, take_one(session, queue), outcome="permanent_error")
    assert discard(ids=[job_id]) == [job_id]
    assert not Job.objects.exists()


def test_the_table_of_moves_names_verbs_that_exist_and_leaves_no_live_state_without_an_exit():
    assert {old for old, _ in MOVES if old} >= LIVE - {JobState.PAUSED}
