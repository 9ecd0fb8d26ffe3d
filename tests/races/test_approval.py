"""Two people decide at once: one of them does."""

from collections.abc import Callable

import pytest

from apps.audit.models import Entry
from apps.errors import IllegalMove
from apps.jobs import services
from tests.acts import enqueue
from tests.jobs.looks import ANN, look, state
from tests.races.stage import meanwhile, together

pytestmark = pytest.mark.usefixtures("arena")
VERBS: dict[str, Callable[..., object]] = {
    "approve": services.approve,
    "reject": services.reject,
    "cancel": services.cancel,
}
ENDS = {"approve": "queued", "reject": "cancelled", "cancel": "cancelled"}


@pytest.mark.parametrize("first", VERBS)
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_whoever_comes_second_is_told_that_it_was_decided(first, second, queue):
    job_id = enqueue(queue, requires_approval=True)
    with meanwhile(lambda: VERBS[second](job_id=job_id, actor=ANN)) as late:
        VERBS[first](job_id=job_id, actor=ANN)
    assert isinstance(late.exception(), IllegalMove)
    assert ENDS[first] in str(late.exception())
    assert state(job_id) == ENDS[first]
    assert list(Entry.objects.filter(target_id=str(job_id)).values_list("action", flat=True)) == [f"job.{first}"]


def test_of_many_at_once_exactly_one_decides(queue):
    jobs = [enqueue(queue, requires_approval=True) for _ in range(8)]

    def decide(verb):
        def all_of_them():
            return sum(_decided(verb, job_id) for job_id in jobs)

        return all_of_them

    won = together(*(decide(verb) for verb in (services.approve, services.reject) * 2))
    assert sum(won) == len(jobs)
    for job_id in jobs:
        assert state(job_id) == ("queued" if look(job_id).approval["decision"] == "approved" else "cancelled")
    assert Entry.objects.filter(target_id__in=map(str, jobs)).count() == len(jobs)


def _decided(verb, job_id):
    try:
        verb(job_id=job_id, actor=ANN)
    except IllegalMove:
        return False
    return True


@pytest.mark.parametrize(("rule", "then"), [("cancel", "cancelled"), ("run", "queued")])
def test_a_child_that_comes_while_its_parent_is_rejected_follows_its_rule(rule, then, queue):
    parent = enqueue(queue, requires_approval=True)
    with meanwhile(lambda: enqueue(queue, depends_on=[parent], on_parent_failure=rule)) as child:
        services.reject(job_id=parent, actor=ANN)
    assert state(child.result()) == then
