"""Days are cut by whoever comes first, and nobody else minds."""

import pytest

from apps.audit.engine.days import existing, missing
from apps.jobs.engine.partition import JOB, TABLES, partition
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import state
from tests.races.stage import together

pytestmark = pytest.mark.usefixtures("arena")


def test_two_who_cut_the_same_days_at_once_cut_each_once():
    names = [name for part in together(*[lambda: partition(ahead=12)] * 2) for name in part]
    assert len(names) == len(set(names)) > 0
    for table in TABLES:
        assert missing(table, ahead=12) == []
        assert all(part.attached for part in existing(table))


def test_reports_go_on_while_days_are_cut(queue, session):
    jobs = [enqueue(queue) for _ in range(20)]

    def work():
        for _ in jobs:
            finish(session, take_one(session, queue))

    together(work, lambda: partition(ahead=9))
    assert {state(job_id) for job_id in jobs} == {"completed"}
    assert missing(JOB, ahead=9) == []
