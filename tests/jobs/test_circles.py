"""Jobs never wait for themselves, not even over ten thousand others: circles are refused and named (case H29)."""

import time

import pytest
from uuid_utils.compat import uuid7

from tests.acts import enqueue, take
from tests.factories import SessionFactory
from tests.jobs.looks import fail_for_good, run, state
from tests.jobs.test_set_parents import refusal_of, wait_for


def test_a_job_cannot_wait_for_itself(queue):
    job_id, other = enqueue(queue), enqueue(queue)
    assert "cannot wait for itself" in refusal_of(job_id, other, job_id, at="#/depends_on/1")


def test_a_circle_is_named(queue):
    first = enqueue(queue)
    second = enqueue(queue, depends_on=[first])
    third = enqueue(queue, depends_on=[second])
    assert f"{first} → {third} → {second} → {first}." in refusal_of(first, third)


def test_a_circle_over_jobs_that_have_ended_is_one_too(queue, session):
    """A replay of the one in the middle may make it wait again."""
    first, over = enqueue(queue, priority=-5), enqueue(queue)
    middle = enqueue(queue, depends_on=[first, over])
    last = enqueue(queue, depends_on=[middle], on_parent_failure="run", priority=-9)
    fail_for_good(session, queue, over)
    assert (state(middle), state(last)) == ("cancelled", "queued")
    assert f"{first} → {last} → {middle} → {first}." in refusal_of(first, last)


def chain(queue, length):
    """Jobs of which each waits for the one before, laid out by hand."""
    ids = [uuid7() for _ in range(length)]
    run("SELECT set_config('fencepost.guard', 'off', true)")
    run(
        "INSERT INTO jobs_job_live (id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state,"
        " pending, has_dependents)"
        " SELECT id, %s, 'ping', '{}', now(), place, 5, 3, 100, CASE place WHEN 1 THEN 'queued' ELSE 'blocked' END,"
        " (place > 1)::int, place < %s FROM unnest(%s::uuid[]) WITH ORDINALITY AS u (id, place)",
        [queue.pk, length, ids],
    )
    run(
        "INSERT INTO jobs_dependency (parent_id, child_id) SELECT * FROM unnest(%s::uuid[], %s::uuid[])",
        [ids[:-1], ids[1:]],
    )
    return ids


def test_a_circle_of_ten_thousand_is_found_in_two_seconds(queue):
    ids = chain(queue, 10_000)
    began = time.monotonic()
    says = refusal_of(ids[0], ids[-1])
    assert time.monotonic() - began < 2
    assert says.endswith(f"9990 more → {ids[0]}.")
    began = time.monotonic()
    wait_for(ids[-1], ids[-3])
    assert time.monotonic() - began < 2


@pytest.mark.bench
def test_a_circle_over_two_hundred_layers_of_fifty_is_found_in_two_seconds(queue):
    """Each job of a layer waits for all fifty of the one before: half a million edges."""
    ids = chain(queue, 10_000)
    run("DELETE FROM jobs_dependency")
    run(
        "INSERT INTO jobs_dependency (parent_id, child_id) SELECT parent.id, child.id"
        " FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS parent (id, place)"
        " JOIN unnest(%(ids)s::uuid[]) WITH ORDINALITY AS child (id, place) ON (child.place - 1) / 50 = (parent.place - 1) / 50 + 1",
        {"ids": ids},
    )
    run("UPDATE jobs_job_live SET pending = 50, state = 'blocked' WHERE id = ANY(%s)", [ids[50:]])
    run("UPDATE jobs_job_live SET pending = 0, state = 'queued', has_dependents = TRUE WHERE id = ANY(%s)", [ids[:50]])
    run("ANALYZE jobs_dependency, jobs_job_live")
    for look_up in (lambda: refusal_of(ids[0], ids[-1]), lambda: wait_for(ids[-1], *ids[-100:-50])):
        began = time.monotonic()
        look_up()
        assert time.monotonic() - began < 2


def test_a_long_chain_is_cut_and_runs_on(queue, session):
    ids = chain(queue, 30)
    wait_for(ids[15])
    wide = SessionFactory.create()
    assert {one.job_id for one in take(wide, queue)} == {ids[0], ids[15]}
