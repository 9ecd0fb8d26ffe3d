"""Caps, rates and breakers of queues: what a gate admits, what it is charged, and what it gets back."""

import pytest
from django.db import connection

from apps.audit.record import SYSTEM
from apps.errors import BadInput, InUse
from apps.jobs.engine.cancel import cancel
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.engine.gates import gates
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.reap import reap
from apps.jobs.engine.reconcile import reconcile
from apps.queues.models import Gate
from apps.queues.services import queues
from apps.queues.services.gates import caps
from tests.acts import OFFERS, enqueue, finish, take
from tests.jobs.looks import let_lapse, run


def limit(queue, **fields):
    """Set limits and open the gate, as the loop does when nothing older runs."""
    queues.update(queue=queue, actor=SYSTEM, **fields)
    open_gates()
    queue.refresh_from_db()


def admitted(session, queue, *, limit=100):
    return claim_gated(session_id=session.pk, queue_id=queue.pk, offers=OFFERS, limit=limit).jobs


def in_flight(queue):
    return list(Gate.objects.filter(queue=queue).order_by("shard").values_list("in_flight", flat=True))


def tokens(queue):
    return Gate.objects.get(queue=queue).tokens


def test_a_queue_with_limits_is_no_business_of_the_plain_claim(queue, session):
    enqueue(queue)
    limit(queue, max_concurrency=1)
    assert take(session, queue) == []
    assert len(admitted(session, queue)) == 1


def test_a_cap_admits_so_many_and_every_end_gives_a_place_back(queue, session):
    limit(queue, max_concurrency=3)
    for _ in range(9):
        enqueue(queue)
    first = admitted(session, queue)
    assert (len(first), in_flight(queue), admitted(session, queue)) == (3, [3], [])
    finish(session, first[0])
    finish(session, first[1], outcome="retryable_error")
    assert in_flight(queue) == [1]
    assert len(admitted(session, queue)) == 2
    assert in_flight(queue) == [3]


@pytest.mark.parametrize(
    "outcome",
    ["success", "retryable_error", "permanent_error", "timeout", "lost", "crashed", "snoozed", "released", "cancelled"],
)
def test_whatever_the_end_the_place_is_free_again(queue, session, outcome):
    limit(queue, max_concurrency=1)
    enqueue(queue)
    [taken] = admitted(session, queue)
    finish(session, taken, outcome=outcome, delay_ms=0 if outcome == "snoozed" else None)
    assert in_flight(queue) == [0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM jobs_job WHERE shard IS NOT NULL")
        assert cursor.fetchone() == (0,)


def test_a_reaper_and_a_cancel_by_force_give_places_back(queue, session):
    limit(queue, max_concurrency=2)
    enqueue(queue), enqueue(queue)
    first, _ = admitted(session, queue)
    cancel(job_id=first.job_id, force=True)
    assert in_flight(queue) == [1]
    let_lapse(session)
    reap()
    assert in_flight(queue) == [0]


def test_shards_split_the_cap_and_no_claimer_passes_it(queue, session):
    limit(queue, max_concurrency=10, shards=4)
    assert [gate.cap for gate in Gate.objects.order_by("shard")] == [3, 3, 2, 2]
    for _ in range(30):
        enqueue(queue)
    got = [job for _ in range(20) for job in admitted(session, queue)]
    assert len(got) == 10
    assert in_flight(queue) == [3, 3, 2, 2]
    assert {gate.in_flight - (gate.cap or 0) for gate in Gate.objects.all()} == {0}


@pytest.mark.parametrize(
    ("cap", "running", "parts"),
    [
        (10, [0, 0, 0, 0], [3, 3, 2, 2]),
        (10, [5, 0], [8, 2]),
        (4, [5, 0], [4, 0]),
        (4, [5, 5], [4, 0]),
        (6, [5, 5], [5, 1]),
        (1, [0, 0], [1, 0]),
        (None, [1, 2], [None, None]),
    ],
)
def test_parts_add_up_and_never_leave_more_free_than_the_whole(cap, running, parts):
    assert caps(cap, running) == parts
    if cap is not None:
        free = sum(max((part or 0) - busy, 0) for part, busy in zip(parts, running, strict=True))
        assert (sum(part or 0 for part in parts), free) == (cap, max(cap - sum(running), 0))


def test_a_smaller_cap_admits_nothing_until_enough_has_ended(queue, session):
    limit(queue, max_concurrency=4)
    for _ in range(9):
        enqueue(queue)
    running = admitted(session, queue)
    limit(queue, max_concurrency=2)
    finish(session, *running[:2])
    assert admitted(session, queue) == []
    finish(session, running[2])
    assert len(admitted(session, queue)) == 1


def test_other_shards_are_refused_while_jobs_run_and_not_an_eleventh_comes_through(queue, session):
    limit(queue, max_concurrency=10)
    for _ in range(20):
        enqueue(queue)
    running = admitted(session, queue)
    with pytest.raises(InUse) as refused:
        queues.update(queue=queue, actor=SYSTEM, shards=8)
    assert refused.value.extra == {"counts": {"running": 10}}
    assert admitted(session, queue) == []
    finish(session, *running)
    limit(queue, shards=8)
    assert len([job for _ in range(40) for job in admitted(session, queue, limit=1)]) == 10


def test_a_cap_on_a_queue_that_runs_opens_when_what_runs_is_counted(queue, session):
    for _ in range(5):
        enqueue(queue)
    running = take(session, queue, limit=3)
    queues.update(queue=queue, actor=SYSTEM, max_concurrency=4)
    assert take(session, queue) == admitted(session, queue) == []  # neither way
    assert open_gates() == (queue.pk, True)
    assert in_flight(queue) == [3]
    assert len(admitted(session, queue)) == 1
    finish(session, *running)
    assert in_flight(queue) == [1]


@pytest.mark.parametrize(
    "begins",
    [
        "SELECT pg_current_xact_id()",
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queues_gate",
    ],
    ids=["that has written", "that has only looked"],
)
def test_a_gate_waits_for_every_transaction_that_may_not_have_seen_it(queue, own_database, begins):
    with own_database.connect() as older:
        older.execute(begins)
        queues.update(queue=queue, actor=SYSTEM, max_concurrency=1)
        assert open_gates() is None
        older.commit()
    assert open_gates() == (queue.pk, True)


def test_a_limit_that_is_taken_off_takes_the_gate_away(queue, session):
    limit(queue, max_concurrency=1)
    enqueue(queue), enqueue(queue)
    [running] = admitted(session, queue)
    limit(queue, max_concurrency=None)
    assert not Gate.objects.exists()
    assert len(take(session, queue)) == 1
    finish(session, running)
    limit(queue, max_concurrency=5)
    assert in_flight(queue) == [1]


def test_a_rate_admits_its_burst_and_then_as_tokens_come(queue, session):
    limit(queue, rate_per_second=0.5, burst=3)
    for _ in range(9):
        enqueue(queue)
    assert len(admitted(session, queue)) == 3
    assert admitted(session, queue) == []
    [ahead] = gates(queues=[queue.pk], types=list(OFFERS), session_id=None)
    assert 1.5 < ahead.wait_seconds <= 2
    run("UPDATE queues_gate SET refilled_at = refilled_at - interval '5 seconds'")
    assert len(admitted(session, queue)) == 2
    assert 0 <= tokens(queue) < 1


def test_tokens_do_not_pile_up_beyond_the_burst(queue, session):
    limit(queue, rate_per_second=100, burst=2)
    for _ in range(9):
        enqueue(queue)
    assert len(admitted(session, queue)) == 2
    run("UPDATE queues_gate SET refilled_at = refilled_at - interval '1 hour'")
    assert len(admitted(session, queue)) == 2


def test_a_token_that_was_spent_does_not_come_back(queue, session):
    limit(queue, rate_per_second=0.001)
    enqueue(queue)
    for outcome in ("retryable_error", "crashed"):
        [taken] = admitted(session, queue)
        finish(session, taken, outcome=outcome, delay_ms=0)
        assert admitted(session, queue) == []
        run("UPDATE queues_gate SET refilled_at = refilled_at - interval '1001 seconds'")
        run("UPDATE jobs_job_live SET state = 'queued' WHERE state = 'retry_wait'")


def test_waiting_for_a_token_leaves_no_trace(queue, session):
    limit(queue, rate_per_second=0.001)
    waiting = [enqueue(queue) for _ in range(3)]
    admitted(session, queue)
    for _ in range(5):
        assert admitted(session, queue) == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(attempt) FROM jobs_job_live WHERE id = ANY(%s)", [waiting])
        assert cursor.fetchone() == (1,)


def test_a_full_or_paused_queue_is_not_even_tried(queue, session):
    limit(queue, max_concurrency=1)
    enqueue(queue), enqueue(queue)
    assert [one.queue_id for one in gates(queues=[queue.pk], types=list(OFFERS), session_id=None)] == [queue.pk]
    assert gates(queues=[queue.pk], types=["other"], session_id=None) == []
    admitted(session, queue)
    assert gates(queues=[queue.pk], types=list(OFFERS), session_id=None) == []
    queues.pause(queue=queue, actor=SYSTEM)
    assert admitted(session, queue) == []


def test_reconcile_repairs_what_was_counted_wrong_and_tells(queue, session):
    limit(queue, max_concurrency=5, shards=2)
    for _ in range(5):
        enqueue(queue)
    got = [job for _ in range(5) for job in admitted(session, queue)]
    assert len(got) == 5
    right = in_flight(queue)
    run("UPDATE queues_gate SET in_flight = in_flight + 2 WHERE shard = 1")
    looked = reconcile()
    assert looked
    queue_id, [drift] = looked
    assert (queue_id, drift.shard, drift.before - drift.running) == (queue.pk, 1, 2)
    assert in_flight(queue) == right
    assert reconcile(after=queue.pk) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"max_concurrency": 0},
        {"max_concurrency": -1},
        {"shards": 65},
        {"shards": 0},
        {"rate_per_second": 0},
        {"rate_per_second": -1.0},
        {"rate_per_second": float("nan")},
        {"rate_per_second": float("inf")},
        {"burst": 0},
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(queue, fields):
    with pytest.raises(BadInput) as refused:
        queues.update(queue=queue, actor=SYSTEM, **fields)
    assert refused.value.errors[0].pointer == f"#/{next(iter(fields))}"


def test_the_session_is_not_given_more_than_it_has_slots(queue, session):
    limit(queue, max_concurrency=100)
    run("UPDATE workers_session SET concurrency = 2")
    for _ in range(5):
        enqueue(queue)
    assert len(admitted(session, queue)) == 2
    assert admitted(session, queue) == []
    assert in_flight(queue) == [2]


def test_an_open_breaker_lets_nothing_through_and_then_one_job_at_a_time(queue, session):
    limit(queue, max_concurrency=100)
    for _ in range(5):
        enqueue(queue)
    run("UPDATE queues_gate SET breaker = 'open', reopens_at = clock_timestamp() + interval '1 minute'")
    assert admitted(session, queue) == []
    run("UPDATE queues_gate SET reopens_at = clock_timestamp()")
    [probe] = admitted(session, queue)
    gate = Gate.objects.get()
    assert (gate.breaker, gate.probe_job, gate.probe_fence) == ("half_open", probe.job_id, probe.fence)
    assert admitted(session, queue) == []
