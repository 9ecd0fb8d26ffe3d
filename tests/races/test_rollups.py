"""The ledger is summed up by many schedulers at once, and while somebody's ends are not committed yet."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F

from apps.jobs.engine.rollup import Rolled, rollup
from apps.jobs.models import Rollup
from apps.queues.models import MinuteStat
from tests.acts import enqueue, finish, take_one
from tests.jobs.looks import run
from tests.jobs.test_rollup import sum_up
from tests.races.stage import aside, together

pytestmark = pytest.mark.usefixtures("arena")


def completed() -> int:
    return sum(MinuteStat.objects.values_list("completed", flat=True))


def test_an_end_that_is_committed_after_its_minute_was_summed_up_is_counted(queue, session):
    enqueue(queue)
    taken = take_one(session, queue)
    with transaction.atomic():
        finish(session, taken)
        # It ended a while ago, by the ledger and by the beginning of its transaction; nobody else has seen it so far.
        aside(lambda: sum_up(margin_seconds=0.0))
        settled = Rollup.objects.get().settled_at
        [[began]] = run("SELECT xact_start FROM pg_stat_activity WHERE pid = pg_backend_pid()")
        assert settled <= began
    assert completed() == 0
    sum_up()
    assert completed() == 1


def test_of_eight_schedulers_at_once_one_sums_up(queue, session):
    sum_up()
    enqueue(queue)
    finish(session, take_one(session, queue))
    Rollup.objects.update(rolled_at=F("rolled_at") - timedelta(seconds=30))
    turns = together(*[rollup] * 8)
    assert [turn for turn in turns if turn] == [Rolled([queue.pk], is_behind=False)]
    assert completed() == 1
