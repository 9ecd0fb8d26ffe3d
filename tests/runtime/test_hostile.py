"""Handlers that raise what no handler should, or take away what their process stands on (case H22)."""

import pytest

from apps.jobs.models import Attempt
from apps.jobs.selectors import find
from apps.jobs.services import submit, submit_batch
from apps.jobs.states import JobState
from apps.runtime.executor.outcome import MESSAGE_MAX, TRACEBACK_MAX
from tests.processes import final, worker
from tests.workload.hostile import MEDDLING
from tests.workload.raising import ANSWERED, RAISED

FAST = ("--poll-interval", "0.2", "--lease", "30")
ROOM = 100  # characters of what says that something was cut

NAMES = {
    "unprintable": "Unprintable",
    "demanding": "Demanding",
    "exit 0": "SystemExit",
    "exit 3": "SystemExit",
    "interrupt": "KeyboardInterrupt",
    "generator": "GeneratorExit",
    "cancelled": "CancelledError",
    "base": "BaseException",
    "stop": "StopIteration",
    "text": "TypeError",
    "none": "TypeError",
    "group": "ExceptionGroup",
    "chain": "ValueError",
    "circle": "ValueError",
    "deep": "RecursionError",
    "long": "ValueError",
    "heavy": "ValueError",
    "nul": "ValueError",
    "lines": "ValueError",
    "lying": "Lying",
    "nameless": "Nameless",
    "masked": "OutcomeUnreadable",
    "careless": "Careless",
}


def test_every_exception_there_is_has_its_name_here():
    assert NAMES.keys() == RAISED.keys()


@pytest.mark.parametrize("processes", ["0", "2"])
def test_whatever_is_raised_is_a_failed_attempt_with_a_text_that_can_be_read(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes, "--concurrency", "4") as process:
        made = {
            submit(queue=queue, type=type, payload=what, max_attempts=1).id: what
            for what in RAISED
            for type in ("raise", "raise.patient")
        }
        assert {job.state for job in final(*made, within=90)} == {JobState.DEAD_LETTER}
        for attempt in Attempt.objects.filter(job_id__in=made):
            expected = {NAMES[made[attempt.job_id]]} | ({"RuntimeError"} if made[attempt.job_id] == "stop" else set())
            assert attempt.outcome == "retryable_error", made[attempt.job_id]
            assert attempt.error_class in expected
            assert len(attempt.error_message or "") <= MESSAGE_MAX + ROOM
            assert len(attempt.traceback or "") <= TRACEBACK_MAX + ROOM
            assert attempt.traceback or made[attempt.job_id] == "masked"
        noops = submit_batch(queue=queue, jobs=[{"type": "noop"} for _ in range(100)]).jobs
        assert {job.state for job in final(*[one.job_id for one in noops])} == {JobState.COMPLETED}
        assert process.popen.poll() is None
        assert "executor ended" not in process.output


@pytest.mark.parametrize("processes", ["0", "2"])
def test_whatever_is_answered_ends_the_attempt_and_nobody_else(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes, "--concurrency", "4") as process:
        made = {
            submit(queue=queue, type=type, payload=what, max_attempts=1).id: what
            for what in ANSWERED
            for type in ("answer.badly", "answer.badly.patient")
        }
        assert {job.state for job in final(*made, within=60)} == {JobState.DEAD_LETTER}
        for attempt in Attempt.objects.filter(job_id__in=made):
            assert attempt.error_class in CLASSES[made[attempt.job_id]], made[attempt.job_id]
        assert "executor" not in process.output


CLASSES = dict.fromkeys(ANSWERED, {"ResultNotSerialisable"}) | {
    "trap": {"OutcomeUnreadable"},
    "large": {"ResultTooLarge"},
    "follow-up": {"FollowUpRefused"},
}


def test_a_coroutine_that_blocks_the_loop_does_not_hold_up_the_ends_of_functions(own_database, tmp_path, queue):
    """Each slot has its thread, and what ended there is told from there."""
    with worker(own_database, tmp_path, *FAST, "--processes", "1", "--concurrency", "2") as process:
        work = submit(queue=queue, type="effect", payload={"seconds": 0.5})
        block = submit(queue=queue, type="freeze", payload=8)
        assert final(work.id, within=6)[0].state == JobState.COMPLETED
        assert find(block.id).state == JobState.RUNNING
        assert process.popen.poll() is None


def test_a_text_that_was_cut_says_so(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST):
        job = submit(queue=queue, type="raise", payload="long", max_attempts=1)
        final(job.id)
    [attempt] = Attempt.objects.filter(job_id=job.id)
    assert attempt.error_message
    assert attempt.error_message.startswith("x" * 1000)
    assert "characters cut]" in attempt.error_message


@pytest.mark.parametrize("what", [what for what in MEDDLING if what != "parent"])
def test_whatever_a_handler_takes_away_the_worker_goes_on(own_database, tmp_path, queue, what):
    with worker(own_database, tmp_path, *FAST, "--processes", "1", "--concurrency", "4") as process:
        job = submit(queue=queue, type="meddle", payload={"what": what}, max_attempts=1)
        [ended] = final(job.id)
        assert ended.state == JobState.DEAD_LETTER
        [attempt] = Attempt.objects.filter(job_id=job.id)
        assert attempt.error_class in ({"ValueError", "Crashed"} if what == "sockets" else {"ValueError"})
        noops = submit_batch(queue=queue, jobs=[{"type": "noop"} for _ in range(100)]).jobs
        assert {job.state for job in final(*[one.job_id for one in noops])} == {JobState.COMPLETED}
        process.send(15)
        assert process.wait() == 0
        assert "Traceback" not in process.output


def test_nonsense_on_the_line_ends_the_executor_not_the_worker(own_database, tmp_path, queue):
    """A handler that writes into every socket of its process, ours among them, crashes; it is not believed."""
    with worker(own_database, tmp_path, *FAST, "--processes", "1") as process:
        job = submit(queue=queue, type="meddle", payload={"what": "sockets"}, max_attempts=1)
        final(job.id)
        process.says("executor speaks nonsense")
        [attempt] = Attempt.objects.filter(job_id=job.id)
        assert attempt.outcome in ("crashed", "retryable_error")
        assert final(submit(queue=queue, type="noop").id)[0].state == JobState.COMPLETED
