"""Cancelling what runs, in real workers (case H23): it ends by the rule, whatever it does, and no start comes after."""

import signal

import pytest

from apps.audit.record import SYSTEM
from apps.jobs.models import Attempt
from apps.jobs.selectors import find
from apps.jobs.services import cancel, submit
from apps.jobs.states import JobState
from apps.workers.models import Session
from tests.processes import effects, final, until, worker

QUICK = ("--poll-interval", "0.2", "--heartbeat", "0.2")
KINDS = ("stubborn", "stubborn.async")
ENDS = ("succeed", "raise", "retry", "snooze", "ask")


def stop(*ids):
    """Ask them to stop once they run; the answer says that they do."""
    until(lambda: {find(one).state for one in ids} == {JobState.RUNNING} and all(effects(one) for one in ids))
    answers = [cancel(job_id=one, actor=SYSTEM) for one in ids]
    assert {(answer.state, answer.cancelling) for answer in answers} == {("running", True)}


@pytest.mark.parametrize("processes", ["0", "1"])
def test_whatever_it_does_when_it_hears_of_it_it_ends_cancelled_and_never_runs_again(
    own_database, tmp_path, queue, processes
):
    with worker(own_database, tmp_path, *QUICK, "--concurrency", "20", "--processes", processes):
        made = [submit(queue=queue, type=kind, payload=how, max_attempts=9).id for kind in KINDS for how in ENDS]
        stop(*made)
        ended = final(*made)
    assert {(job.state, job.reason) for job in ended} == {("cancelled", "cancelled")}
    assert {len(effects(job_id)) for job_id in made} == {1}
    assert set(Attempt.objects.values_list("outcome", flat=True)) <= {"cancelled", "retryable_error"}


def test_a_job_of_a_frozen_worker_ends_cancelled_when_its_lease_is_over_and_nobody_else_runs_it(
    own_database, tmp_path, queue
):
    short = ("--poll-interval", "0.2", "--lease", "1.5")
    with worker(own_database, tmp_path, *short) as frozen, worker(own_database, tmp_path, *short, name="w2") as other:
        until(lambda: "worker started" in other.output)
        job = submit(queue=queue, type="stubborn", payload="succeed", max_attempts=9)
        until(lambda: effects(job.id))
        holder = next(one for one, name in ((frozen, "w1"), (other, "w2")) if _holder(job.id) == name)
        holder.send(signal.SIGSTOP)
        assert cancel(job_id=job.id, actor=SYSTEM).cancelling
        [ended] = final(job.id)
        holder.send(signal.SIGCONT)
        holder.says("fenced")
        assert find(job.id) == ended
    assert (ended.state, len(effects(job.id))) == ("cancelled", 1)
    assert [one.outcome for one in Attempt.objects.filter(job_id=job.id)] == ["lost"]


def _holder(job_id):
    [session] = Session.objects.select_related("worker").filter(pk__in=[find(job_id).session_id])
    return session.worker.uid
