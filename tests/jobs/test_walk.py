"""While an old snapshot is held open, a claim begins where the last one ended, and still misses nothing for long."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from apps.jobs import services
from apps.jobs.engine import claim as module
from apps.jobs.engine.claim import SLOW, WALK_EVERY, Claimed, Hint, Walk, claim
from apps.jobs.engine.report import Ended, _columns, _report
from apps.sql import Statement, open_own, run_alone
from tests.acts import enqueue, finish, take_one
from tests.architecture.sql_files import nodes
from tests.factories import SessionFactory
from tests.races.stage import aside

LONG = Claimed(jobs=[], candidates=0, walked=2 * SLOW)


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def walk(clock) -> Walk:
    return Walk(clock)


def ask(session, queue, walk, *, limit=1):
    hint = walk.hint(held=0)
    got = claim(session_id=session.pk, queues=[queue.pk], offers={"ping": None}, limit=limit, hint=hint)
    walk.see(hint, got)
    walk.slow = True  # as under a snapshot that is held open
    return [one.job_id for one in got.jobs]


def test_a_claim_that_finds_its_jobs_at_once_gives_no_hint(walk):
    walk.see(Hint(), Claimed(jobs=[], candidates=0, walked=SLOW / 2))
    assert walk.hint(held=3) == Hint()
    assert walk.rest == 0


def test_after_a_long_walk_the_next_ones_begin_where_the_last_ended_for_a_while(queue, walk, clock):
    walk.see(Hint(), LONG)
    walk.see(Hint(), Claimed(jobs=[], candidates=1, walked=2 * SLOW, ends={queue.pk: 7}))
    assert walk.hint(held=3) == Hint({queue.pk: 7}, 3)
    assert walk.due_in == pytest.approx(WALK_EVERY)
    clock.at += WALK_EVERY
    assert walk.hint(held=3) == Hint({}, 3)
    clock.at += module.COUNT_EVERY
    assert walk.hint(held=3) == Hint({}, None)


def test_who_walks_far_in_vain_although_it_began_late_rests(queue, walk):
    late = Hint({queue.pk: 7}, 0)
    walk.see(Hint(), LONG)
    assert walk.rest == 0  # once in a while it has to be done
    walk.see(late, LONG)
    assert walk.rest == pytest.approx(4 * LONG.walked)
    walk.see(late, Claimed(jobs=[], candidates=0, walked=60))
    assert 0 < walk.rest < WALK_EVERY
    walk.see(late, Claimed(jobs=[], candidates=0, walked=0))
    assert walk.rest == 0


def test_jobs_are_handed_out_in_order_from_there_on(queue, session, walk):
    made = [enqueue(queue) for _ in range(5)]
    assert [ask(session, queue, walk) for _ in made] == [[one] for one in made]
    assert ask(session, queue, walk) == []


@pytest.mark.parametrize("walked", [False, True])
def test_what_is_more_urgent_is_found_by_the_next_whole_walk(queue, session, walk, clock, walked):
    first, second = enqueue(queue), enqueue(queue)
    assert ask(session, queue, walk) == [first]
    urgent = enqueue(queue, priority=9)
    clock.at += WALK_EVERY if walked else 0
    assert ask(session, queue, walk) == [urgent if walked else second]


def test_work_that_is_more_urgent_goes_on_from_there(queue, session, walk, clock):
    """Else each whole walk would start a few of the urgent jobs, and what is less urgent the rest of the time."""
    plain = [enqueue(queue) for _ in range(3)]
    assert ask(session, queue, walk) == plain[:1]
    urgent = [enqueue(queue, priority=9) for _ in range(3)]
    clock.at += WALK_EVERY
    assert [ask(session, queue, walk) for _ in range(5)] == [[one] for one in urgent + plain[1:]]


def test_a_job_that_commits_late_is_found(own_database, queue, session, walk, clock):
    with transaction.atomic():
        late = enqueue(queue)
        early = aside(lambda: enqueue(queue))
        assert aside(lambda: ask(session, queue, walk)) == [early]
    assert ask(session, queue, walk) == []
    clock.at += WALK_EVERY
    assert ask(session, queue, walk) == [late]


def test_a_session_is_given_no_more_than_it_has_room_for_by_its_own_word(queue):
    session = SessionFactory.create(concurrency=3)
    for _ in range(5):
        enqueue(queue)
    offers = {"ping": None}
    got = claim(session_id=session.pk, queues=[queue.pk], offers=offers, limit=5, hint=Hint(held=1))
    assert len(got.jobs) == 2


@pytest.fixture
def held(own_database) -> Iterator[psycopg.Connection]:
    """A snapshot held open."""
    with open_own() as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT FROM jobs_job LIMIT 1")
        yield reader


def explained(statement: Statement[Any], params: dict[str, Any]) -> dict[str, Any]:
    """Runs it."""
    text = b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.native
    connection.ensure_connection()
    with psycopg.RawCursor(connection.connection) as cursor:
        [[[plan]]] = cursor.execute(text, [params[name] for name in statement.names]).fetchall()
    found: dict[str, Any] = plan["Plan"]
    return found


def buffers(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def test_under_a_snapshot_a_claim_and_a_report_read_little(held, queue):
    session = SessionFactory.create(concurrency=1000)
    for _ in range(6):
        services.submit_batch(queue=queue, jobs=[{"type": "ping"}] * 1000)
        got = claim(session_id=session.pk, queues=[queue.pk], offers={"ping": None}, limit=1000)
        finish(session, *got.jobs)
    run_alone("VACUUM (ANALYZE) jobs_job_live", lock_timeout="0")  # now it looks empty, and is not
    for _ in range(3):
        enqueue(queue)
    taken = take_one(session, queue)

    def cost(hint: Hint) -> int:
        return buffers(explained(module._claim, module.params(session.pk, [queue.pk], {"ping": None}, 1, hint)))

    assert cost(Hint()) > 500
    assert cost(Hint({queue.pk: got.ends[queue.pk]}, 1)) < 100
    ended = Ended(job_id=taken.job_id, fence=taken.fence, session_id=session.pk, outcome="success")
    plan = explained(_report, {**_columns([ended]), "alone": True})
    assert buffers(plan) < 500
    live = [node for node in nodes(plan) if node.get("Index Name", "").startswith("jobs_job_live")]
    assert live
    assert all(node.get("Index Cond") for node in live)
