"""What a handler prints and logs stands with its attempt, and with no other."""

import pytest

from apps.jobs.models import JobLog
from apps.jobs.services import submit
from apps.jobs.states import JobState
from apps.runtime.executor.run import LINE_MAX, LINES_MAX
from tests.processes import final, until, worker

FAST = ("--poll-interval", "0.2", "--lease", "30")


def lines(job_id):
    return list(JobLog.objects.filter(job_id=job_id).order_by("line").values_list("level", "message"))


@pytest.mark.parametrize("processes", ["0", "1"])
def test_output_and_log_records_are_kept_in_order(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes) as process:
        job = submit(queue=queue, type="speak")
        final(job.id)
    kept = lines(job.id)
    assert kept[:3] == [("info", "printed"), ("warning", "to stderr"), ("info", "half a line, the other half")]
    assert ("warning", "logged 7") in kept
    [traceback] = [message for level, message in kept if level == "error"]
    assert traceback.startswith("went wrong\nTraceback")
    assert "KeyError: 'inner'" in traceback
    assert kept[-1] == ("info", "no end")
    assert "printed" in process.output  # and where it went before


@pytest.mark.parametrize("processes", ["0", "1"])
def test_tasks_that_take_turns_do_not_mix_their_lines(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes):
        made = {submit(queue=queue, type="speak.patient", payload=f"job {n}").id: n for n in range(5)}
        final(*made)
    for job_id, number in made.items():
        assert lines(job_id) == [("info", f"job {number} {turn}") for turn in range(3)]


def test_a_handler_that_says_too_much_is_cut_and_the_cut_is_said(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST):
        job = submit(queue=queue, type="speak", payload={"lines": LINES_MAX + 500})
        long = submit(queue=queue, type="speak.long", payload=LINE_MAX * 3)
        assert {one.state for one in final(job.id, long.id)} == {JobState.COMPLETED}
    kept = lines(job.id)
    assert len(kept) == LINES_MAX + 1
    assert "the rest is not kept" in kept[-1][1]
    [(_, message)] = lines(long.id)
    assert len(message) < LINE_MAX + 100
    assert "characters cut]" in message


@pytest.mark.parametrize("processes", ["0", "1"])
def test_lines_can_be_read_while_the_handler_still_runs(own_database, tmp_path, queue, processes):
    with worker(own_database, tmp_path, *FAST, "--processes", processes, "--grace", "0"):
        job = submit(queue=queue, type="speak", payload={"seconds": 20})
        until(lambda: ("warning", "logged 7") in lines(job.id))
