"""A parent that ends in a real worker, however it ends, and those who wait for it (case H28): at once, and with a reason."""

from typing import Any

from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.jobs.services import submit
from tests.processes import effects, final, until, worker

QUICK = ("--poll-interval", "0.2", "--lease", "1.5", "--processes", "1")
WITHIN = 5  # seconds, from the end of the parent on


def family(queue, **parent):
    """A job, one that waits for it, one that waits for that one, and one that runs whatever becomes of it."""
    first = submit(queue=queue, max_attempts=1, max_losses=1, **parent).id
    second = submit(queue=queue, type="noop", depends_on=[first]).id
    third = submit(queue=queue, type="noop", depends_on=[second]).id
    anyway = submit(queue=queue, type="noop", depends_on=[first], on_parent_failure="run").id
    return first, second, third, anyway


def assert_all_told(first, second, third, anyway):
    final(second, third, anyway, within=WITHIN)
    assert find(first).state == "dead_letter"
    assert [(find(one).state, find(one).reason) for one in (second, third)] == [("cancelled", "parent_failed")] * 2
    assert find(anyway).state == "completed"


def test_who_waits_for_a_job_that_fails_crashes_or_takes_too_long_hears_of_it(own_database, tmp_path, queue):
    parents: list[dict[str, Any]] = [
        {"type": "fail", "payload": {"message": "boom"}},
        {"type": "die", "payload": {"how": "SIGKILL"}},
        {"type": "effect.patient", "payload": {"seconds": 60}, "timeout_ms": 300},
    ]
    with worker(own_database, tmp_path, *QUICK):
        for parent in parents:
            jobs = family(queue, **parent)
            final(jobs[0])
            assert_all_told(*jobs)


def test_who_waits_for_a_job_whose_worker_is_killed_hears_of_it_when_its_lease_is_over(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *QUICK) as killed:
        jobs = family(queue, type="effect", payload={"seconds": 60})
        until(lambda: effects(jobs[0]))
        with worker(own_database, tmp_path, *QUICK, name="w2"):
            killed.kill()
            final(jobs[0])
            assert_all_told(*jobs)
    assert not Job.objects.filter(shelved_on=None).exists()
