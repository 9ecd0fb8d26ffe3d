"""Lists keep to their indexes, whatever others have queued or finished."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from apps.jobs.engine import list_dead, list_jobs
from apps.jobs.engine.enqueue import NewJob, enqueue
from apps.jobs.engine.list_jobs import Filter, Window
from tests import acts
from tests.factories import QueueFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowded(queue) -> Any:
    """Three thousand live jobs, as many finished and dead ones, of a few queues."""
    queues = [queue, *QueueFactory.create_batch(4, project=queue.project)]
    for one in queues:
        enqueue([NewJob(queue_id=one.pk, type=acts.PING) for _ in range(600)])
    columns = "id, queue_id, created_at, run_at, rank, max_attempts, max_losses, max_snoozes, type, payload"
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fencepost.guard', 'off', true)")
        for state, shelf in (("completed", datetime.now(UTC).date()), ("dead_letter", date(9999, 12, 31))):
            cursor.execute(
                f"INSERT INTO jobs_job ({columns}, state, finished_at, shelved_on)"
                " SELECT gen_random_uuid(), queue_id, created_at, run_at, rank, max_attempts, max_losses,"
                " max_snoozes, type, payload, %s, now(), %s FROM jobs_job_live",
                [state, shelf],
            )
        cursor.execute("ANALYZE jobs_job, jobs_job_live, jobs_job_dead")
    return queue


def nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def explain(text: str, params: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", params)
        [[plan]] = cursor.fetchall()
    return list(nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))


def whole_tables(found: list[Any]) -> set[str]:
    """Tables of more than a few rows that were read from end to end."""
    return {
        node["Relation Name"]
        for node in found
        if node["Node Type"] == "Seq Scan"
        and node["Relation Name"].startswith("jobs_")
        and node["Actual Rows"] + node.get("Rows Removed by Filter", 0) > 100
    }


@pytest.mark.parametrize("states", [None, ["completed"], ["dead_letter"], ["queued"]])
def test_a_page_of_jobs_walks_indexes(crowded, states):
    within = Filter(states=states)
    params = {
        "queue_ids": [crowded.pk],
        "edge": list_jobs.LAST,
        "limit": 51,
        **list_jobs._shelves(within),
        **list_jobs._columns(within),
    }
    found = explain(list_jobs._older.text, params)
    assert whole_tables(found) == set()
    read = sum(node["Actual Rows"] * node["Actual Loops"] for node in found if "Index Name" in node)
    assert read < 1000


def test_a_page_of_dead_letters_walks_its_index(crowded):
    params = {"queue_ids": [crowded.pk], "edge": list_jobs.LAST, "limit": 51, "error_class": None}
    found = explain(list_dead._older.text, params)
    assert whole_tables(found) == set()
    assert "jobs_job_dead_queue" in {node.get("Index Name") for node in found}


def test_days_that_cannot_matter_are_left_out(crowded):
    """Tomorrow's partitions exist already, and are not looked at."""
    within = Filter(created_after=datetime.now(UTC) - timedelta(hours=1))
    params = {
        "queue_ids": [crowded.pk],
        "edge": list_jobs.LAST,
        "limit": 51,
        **list_jobs._shelves(within),
        **list_jobs._columns(within),
    }
    read = {node["Relation Name"] for node in explain(list_jobs._older.text, params) if "Relation Name" in node}
    days = {name for name in read if name.startswith("jobs_job_d2")}
    assert 0 < len(days) <= 3
    assert list_jobs.list_jobs(queue_ids=[crowded.pk], window=Window(limit=1, within=within))
