"""The hot path keeps to its indexes, however long the backlog and however much was done before.

Every verb runs once on a database with a past; each statement it sends is explained on the way, with
the parameters it is sent with and as the plan that is kept when it is prepared (PostgreSQL 16 and newer).
"""

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.audit.engine.days import older
from apps.audit.relay import relay
from apps.audit.tail import held, read_events
from apps.audit.tail.read import heads
from apps.errors import Refusal
from apps.events.engine.reached import reached
from apps.jobs.engine import log, prune
from apps.jobs.engine.cancel import cancel
from apps.jobs.engine.claim import claim
from apps.jobs.engine.claim_in_turn import claim_in_turn
from apps.jobs.engine.depth import depth
from apps.jobs.engine.enqueue import NewJob, enqueue
from apps.jobs.engine.fenced import fenced
from apps.jobs.engine.heartbeat import Told, heartbeat
from apps.jobs.engine.line import line
from apps.jobs.engine.partition import JOB
from apps.jobs.engine.promote import next_due, promote
from apps.jobs.engine.ready import ready, ready_among
from apps.jobs.engine.reap import reap
from apps.jobs.engine.report import Ended, report, report_missing
from apps.jobs.engine.server import server
from apps.jobs.engine.unannounced import unannounced
from apps.jobs.engine.wake_dependents import wake_dependents
from apps.jobs.engine.wake_left import wake_left
from apps.sql import Statement
from apps.workers.engine.goodbye import goodbye
from apps.workers.engine.register import register
from tests import databases
from tests.architecture.allowances import MAY_SCAN, NOT_HERE
from tests.architecture.operators import limit, seeded, steer, take_aimed
from tests.architecture.sql_files import APPS, FILES, explain, explain_generic, name_of, nodes
from tests.factories import ProjectFactory, QueueFactory

SEED = Path(__file__).with_name("seed.sql").read_text()
HOT = ("jobs_", "workers_session", "audit_outbox", "audit_event", "audit_head")

type Plans = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def plans(database_name, database_template, django_db_blocker) -> Any:
    """The plans of every statement that the verbs send, by file."""
    found: Plans = defaultdict(list)
    with (
        django_db_blocker.unblock(),
        databases.clone(f"{database_name}_plans", template=database_template),
        pytest.MonkeyPatch.context() as patch,
    ):
        queue = QueueFactory.create(project=ProjectFactory.create())
        _seed(queue.project_id)
        patch.setattr(Statement, "__call__", _explained(found))
        _live(queue)
        limit(queue)
        _end(queue)
        steer(queue)
        _look_after(queue)
        yield found


def _seed(project: UUID) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        for text in SEED.split(";\n"):
            if text.strip():
                cursor.execute(text, {"project": project})
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _explained(found: Plans) -> Any:
    """Statement's own call, with a look at the plan before."""
    names = {path.read_text(): name_of(path) for path in FILES}
    send = Statement.__call__

    def call(self: Statement[Any], **params: Any) -> list[Any]:
        if name := names.get(self.text):
            found[name].append(explain(self.text, params))
            if len(found[name]) == 1 and _has_generic_plans():
                found[name].append(explain_generic(self.text))
        return send(self, **params)

    return call


def _has_generic_plans() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        return int(cursor.fetchone()[0]) >= 160000


def _live(queue: Any) -> None:
    """A job is made, with and without parents and keys, promoted, found and claimed."""
    enqueue([NewJob(queue_id=queue.pk, type="ping")])
    [parent] = enqueue([NewJob(queue_id=queue.pk, type="ping", unique_key="k")])
    enqueue([NewJob(queue_id=queue.pk, type="ping", unique_key="k")])
    for parents in ([parent.job_id], [seeded("shelved", 3)], [UUID(int=7 << 76)]):
        with suppress(Refusal), transaction.atomic():
            enqueue([NewJob(queue_id=queue.pk, type="ping", depends_on=parents)])
    cancel(job_id=parent.job_id)
    enqueue([NewJob(queue_id=queue.pk, type="ping", depends_on=[parent.job_id])])
    promote(limit=100)
    next_due()
    ready(after=UUID(int=0), limit=10)
    ready_among(after=UUID(int=0), queues=[queue.pk], limit=10)
    line(project_id=queue.project_id, queue_ids=[queue.pk, *(seeded("queue", n) for n in range(1, 6))], reach=51)
    registered = register(uid="here", concurrency=500, lease_seconds=30, hostname="host", pid=1)
    queue.session_id = registered.session_id
    queues = [queue.pk, *(seeded("queue", n) for n in range(1, 6))]
    queue.claims = claim(
        session_id=queue.session_id, queues=queues, offers={"ping": None, "pong": 1000, "none": None}, limit=50
    ).jobs
    assert len(queue.claims) == 50
    claim_in_turn(session_id=queue.session_id, queues=queues, offers={"ping": None}, limit=0)
    take_aimed(queue, queues)


def _end(queue: Any) -> None:
    """Attempts report, beat and fall silent."""
    claims = queue.claims
    assert unannounced(queue_ids=[seeded("queue", n) for n in range(1, 6)])
    heartbeat(
        session_id=queue.session_id,
        held={one.job_id: one.fence for one in claims},
        told=[Told(claims[0].job_id, 1)],
    )
    held = {"fence": claims[0].fence, "session_id": queue.session_id, "generation": claims[0].generation}
    with fenced(job_id=claims[0].job_id, **held):
        pass
    log._log(ids=[], fences=[], lines=[], attempts=[], levels=[], messages=[])
    outcomes = ["success", "retryable_error", "permanent_error", "snoozed", "released", "lost"]
    ended = [
        Ended(job_id=one.job_id, fence=one.fence, session_id=queue.session_id, outcome=outcomes[place % 6])
        for place, one in enumerate(claims[:30])
    ]
    report(ended=ended)
    report_missing(ended=ended[:3], session_id=queue.session_id)
    reap()
    with pytest.MonkeyPatch.context() as patch:  # one parent whose children are too many for its transaction
        patch.setattr("apps.jobs.engine.wake_dependents.ROUNDS", 0)
        wake_dependents(ended={claims[0].job_id: "completed"})
    wake_left()


def _look_after(queue: Any) -> None:
    """The janitor, the depth cache, the relay and readers of the log."""
    depth()
    prune.prune_dead()
    prune.prune_sessions()
    day = older(JOB, days=0)[-1].day
    shelf = {"day": day, "limit": 100, "edges": 1000}
    prune._shelves(day=day, age=100, default_days=90)
    prune._expired(queues=[seeded("queue", 1)], **shelf)
    prune._ties(after=UUID(int=0), **shelf)
    prune._groups(days=90, limit=100)
    prune._longest(default_days=90)
    relay()
    project = seeded("project", 1)
    held(project)
    reached(read_events(project_id=project, after=900, limit=50))
    heads(projects=[project])
    list(server())
    goodbye(session_id=queue.session_id)


ENGINE = [name_of(path) for path in FILES if path.is_relative_to(APPS / "jobs" / "engine")]
HOT_STATEMENTS = [name for name in ENGINE if name not in NOT_HERE] + [
    "audit/relay.sql",
    "audit/tail/read.sql",
    "audit/tail/read_held.sql",
    "audit/tail/read_heads.sql",
    "workers/engine/register.sql",
    "workers/engine/goodbye.sql",
]


def scans(plan: dict[str, Any]) -> set[str]:
    """The hot tables that a plan reads from end to end."""
    return {
        node["Relation Name"]
        for node in nodes(plan)
        if node["Node Type"] == "Seq Scan" and node["Relation Name"].startswith(HOT)
        if not _is_empty(node) and not _is_left_out(node)
    }


def _is_left_out(node: dict[str, Any]) -> bool:
    """A partition that a kept plan names, and leaves out as soon as it knows which day is asked for."""
    return bool(re.search(r"\(shelved_on = \$\d+\)", node.get("Filter", "")))


def _is_empty(node: dict[str, Any]) -> bool:
    """A day that has only been cut: there is nothing an index could be better at."""
    return bool(node["Relation Name"][-9:-8] == "d" and node["Plan Rows"] <= 1 and node["Total Cost"] < 1)


@pytest.mark.parametrize("name", HOT_STATEMENTS)
def test_no_hot_statement_reads_a_whole_table(plans, name):
    assert name in plans, "no verb sent it: let one of the functions above do so"
    if name not in MAY_SCAN:
        assert [found for plan in plans[name] if (found := scans(plan))] == []


def test_what_nobody_announces_is_found_along_the_lanes(plans):
    """It reads every session, but of the jobs only one for each type, and those it counts."""
    for plan in plans["jobs/engine/unannounced.sql"]:
        assert scans(plan) <= {"workers_session"}
        indexes = {node.get("Index Name", "") for node in nodes(plan)}
        assert {name for name in indexes if name.startswith("jobs_")} == {"jobs_job_live_lane"}


@pytest.mark.parametrize(
    ("name", "table"),
    [("line", "jobs_workflow"), ("why", "workers_session"), ("rollup", "jobs_attempt")],
)
def test_what_is_told_and_summed_up_reads_no_jobs_but_those_it_counts(plans, name, table):
    """Of the ledger the newest minutes, which may be all there is of a day."""
    for plan in plans[f"jobs/engine/{name}.sql"]:
        assert {found.partition("_d2")[0] for found in scans(plan)} <= {table}


@pytest.mark.parametrize("name", ["summarize", "summarize_due"])
def test_of_the_ledger_only_what_failed_is_read(plans, name):
    for plan in plans[f"jobs/engine/{name}.sql"]:
        reads = [node for node in nodes(plan) if node.get("Relation Name", "").startswith("jobs_attempt")]
        assert reads
        walks = [node for node in reads if not _is_empty(node)]
        assert {node.get("Index Name", "").partition("_d2")[2][7:] for node in walks} <= {"_failed"}
        assert all("queue_id" in node["Index Cond"] and "finished_at" in node["Index Cond"] for node in walks)


def test_the_claim_walks_each_lane_in_order(plans):
    for plan in plans["jobs/engine/claim.sql"] + plans["jobs/engine/claim_aimed.sql"]:
        lanes = [
            node for node in nodes(plan) if node.get("Index Name") in ("jobs_job_live_lane", "jobs_job_live_aimed")
        ]
        assert lanes
        assert {node["Scan Direction"] for node in lanes} == {"Forward"}
        assert all(_stops_early(node) for node in lanes)


def _stops_early(lane: dict[str, Any]) -> bool:
    """Nothing sorts a lane before the LIMIT that ends it."""
    above = lane["Parent"]
    while above["Node Type"] in ("Subquery Scan", "Result"):
        above = above["Parent"]
    return bool(above["Node Type"] == "Limit")


DUE = {"promote": ("jobs_job_live_due", "run_at <="), "cron": ("schedule_due", "next_run_at <=")}


@pytest.mark.parametrize("name", DUE)
def test_what_is_not_due_is_not_read(plans, name):
    index, bound = DUE[name]
    for plan in plans[f"jobs/engine/{name}.sql"]:
        if any(node.get("Index Name") == "jobs_schedule_pkey" for node in nodes(plan)):
            continue  # one schedule, asked for by name
        [walk] = [node for node in nodes(plan) if node.get("Index Name") == index]
        assert bound in walk["Index Cond"]


def test_the_claim_sorts_only_heads(plans):
    """What is sorted is what the lanes' limits let through, never a lane."""
    for plan in plans["jobs/engine/claim.sql"]:
        for sort in (node for node in nodes(plan) if "Sort" in node["Node Type"]):
            below = {node["Node Type"] for node in nodes(sort["Plans"][0], sort)}
            reads = [node for node in nodes(sort["Plans"][0], sort) if node.get("Relation Name") == "jobs_job_live"]
            assert all(node.get("Index Name") == "jobs_job_live_lane" or "Tid" in node["Node Type"] for node in reads)
            assert not reads or "Limit" in below or "Nested Loop" in below


# Planted: the tests above can fail.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT FROM jobs_job_live WHERE payload = '1'", {"jobs_job_live"}),
        ("SELECT FROM workers_session WHERE pid = 7", {"workers_session"}),
        ("SELECT FROM jobs_job_live WHERE id = '00000000-0000-0000-0000-000000000000'", set()),
    ],
)
def test_a_scan_of_a_whole_table_is_found(plans, text, found):
    assert scans(explain(text)) == found
