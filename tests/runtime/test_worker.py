"""One worker, for real: what it runs, what it keeps, and what it says."""

import json
from datetime import UTC, datetime

import pytest

from apps.jobs.engine.partition import partition
from apps.jobs.models import Attempt, JobLog, Progress
from apps.jobs.selectors import find
from apps.jobs.services import submit
from apps.jobs.states import JobState
from tests.processes import effects, final, until, worker

FAST = ("--poll-interval", "0.2", "--lease", "5")


@pytest.fixture
def hands(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST, RESULTS_DIR=str(tmp_path / "results")) as process:
        yield process


def test_functions_and_coroutines_run_and_their_answers_are_kept(hands, queue):
    made = [
        submit(queue=queue, type="echo", payload={"id": 9007199254740993, "d": 0.1}),
        submit(queue=queue, type="effect", payload={"answer": [1, None, "é"]}),
        submit(queue=queue, type="effect.patient", payload={}),
    ]
    echoed, answered, patient = final(*[job.id for job in made])
    assert echoed.result == {"id": 9007199254740993, "d": 0.1}
    assert answered.result == [1, None, "é"]
    assert patient.result is None
    assert {job.state for job in (echoed, answered, patient)} == {JobState.COMPLETED}


def test_each_operational_line_is_said_with_its_job(hands, queue):
    done = submit(queue=queue, type="noop")
    dead = submit(queue=queue, type="boom", max_attempts=2, payload={"text": "why"})
    until(lambda: find(dead.id).state == JobState.RETRY_WAIT or find(dead.id).state == JobState.DEAD_LETTER)
    final(done.id, dead.id)
    for line, job in [
        ("job started", done),
        ("job finished", done),
        ("job failed, will retry", dead),
        ("job failed permanently", dead),
    ]:
        hands.says(line)
        assert any(line in said and str(job.id) in said for said in hands.output.splitlines()), line
    assert "attempt=1/2" in hands.output
    assert "ValueError: why" in hands.output


def test_the_ledger_has_a_row_for_each_attempt(hands, queue):
    job = submit(queue=queue, type="boom", max_attempts=2, payload={"text": "why"})
    final(job.id)
    rows = list(Attempt.objects.filter(job_id=job.id).order_by("attempt"))
    assert [(row.attempt, row.outcome, row.error_class, row.error_message) for row in rows] == [
        (1, "retryable_error", "ValueError", "why"),
        (2, "retryable_error", "ValueError", "why"),
    ]
    assert "workload/handlers.py" in (rows[0].traceback or "")
    assert rows[0].fence < rows[1].fence


def test_logs_progress_and_files_are_kept(hands, queue, tmp_path):
    job = submit(queue=queue, type="talk")
    final(job.id)
    assert list(JobLog.objects.filter(job_id=job.id).order_by("line").values_list("line", "level", "message")) == [
        (1, "info", "first"),
        (2, "warning", "second"),
    ]
    assert (tmp_path / "results" / str(job.id) / "note.txt").read_bytes() == b"kept"
    said = Progress.objects.get(job_id=job.id)  # though no heartbeat came between it and the end
    assert (said.done, said.total, said.stage) == (3, 4, "three")


def test_progress_is_seen_while_it_runs(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST):
        job = submit(queue=queue, type="tell.progress")
        until(lambda: Progress.objects.filter(job_id=job.id, done=1, total=2, stage="half").exists())
        assert find(job.id).state == JobState.RUNNING


def test_a_wake_up_starts_a_job_long_before_the_poll(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, "--poll-interval", "60", "--lease", "30", "--no-scheduler"):
        job = submit(queue=queue, type="noop")
        final(job.id, within=10)


def test_without_listening_the_poll_finds_it(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST, "--poll-only"):
        final(submit(queue=queue, type="noop").id)


def test_a_type_nobody_handles_waits_and_spends_nothing(hands, queue):
    strange = submit(queue=queue, type="does.not.exist")
    others = [submit(queue=queue, type="noop") for _ in range(10)]
    assert {job.state for job in final(*[job.id for job in others])} == {JobState.COMPLETED}
    strange = find(strange.id)
    assert (strange.state, strange.attempt) == (JobState.QUEUED, 0)


def test_instructions_are_obeyed(hands, queue):
    snoozed = submit(queue=queue, type="instruct", payload={"what": "snooze", "after": 3600})
    retried = submit(queue=queue, type="instruct", payload={"what": "retry", "after": 3600})
    discarded = submit(queue=queue, type="instruct", payload={"what": "discard"})
    final(discarded.id)
    until(lambda: find(snoozed.id).state == JobState.SCHEDULED and find(retried.id).state == JobState.RETRY_WAIT)
    assert find(snoozed.id).attempt == 0
    assert find(snoozed.id).snoozes == 1
    assert find(retried.id).attempt == 1
    assert (find(retried.id).run_at - find(retried.id).created_at).total_seconds() > 3500
    assert find(discarded.id).reason == "permanent_error"


def test_an_instruction_that_makes_no_sense_is_a_failed_attempt(hands, queue):
    job = submit(queue=queue, type="instruct", payload={"what": "snooze", "after": "soon"}, max_attempts=1)
    assert final(job.id)[0].state == JobState.DEAD_LETTER
    assert Attempt.objects.get(job_id=job.id).error_class == "ValueError"


def test_a_system_exit_is_a_failed_attempt_and_no_end_of_the_worker(hands, queue):
    job = submit(queue=queue, type="exit", max_attempts=1)
    assert final(job.id)[0].state == JobState.DEAD_LETTER
    assert final(submit(queue=queue, type="noop").id)[0].state == JobState.COMPLETED
    assert hands.popen.poll() is None


def test_burst_ends_when_nothing_is_left(own_database, tmp_path, queue):
    made = [submit(queue=queue, type="effect") for _ in range(30)]
    with worker(own_database, tmp_path, *FAST, "--burst", "--concurrency", "4") as process:
        assert process.wait() == 0
    assert len(effects()) == 30
    assert {find(job.id).state for job in made} == {JobState.COMPLETED}


def test_a_handlers_own_time_limit_stops_a_coroutine(hands, queue):
    job = submit(queue=queue, type="brief", max_attempts=1)
    assert final(job.id)[0].reason == "attempts_exhausted"
    assert Attempt.objects.get(job_id=job.id).outcome == "timeout"
    assert [ended for _, _, ended in effects(job.id)] == [True]


@pytest.mark.chaos
def test_a_deaf_function_is_timed_out_and_its_slot_is_not_given_away(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST, "--concurrency", "1", "--processes", "0"):
        job = submit(queue=queue, type="brief.deaf", max_attempts=1, payload={"seconds": 4})
        assert final(job.id)[0].state == JobState.DEAD_LETTER
        [(_, _, ended)] = effects(job.id)
        assert not ended
        after = submit(queue=queue, type="effect")
        final(after.id)
        assert [ended for _, _, ended in effects(job.id)] == [True]


ANSWERS = [
    ("nul", JobState.COMPLETED, {"out": "a\ufffdb", "k\ufffd": 1}),
    ("surrogate", JobState.COMPLETED, "a\ufffdb"),
    ("big", JobState.COMPLETED, 9007199254740993),
    ("nan", JobState.DEAD_LETTER, "ResultNotSerialisable"),
    ("inf", JobState.DEAD_LETTER, "ResultNotSerialisable"),
    ("decimal", JobState.DEAD_LETTER, "ResultNotSerialisable"),
    ("set", JobState.DEAD_LETTER, "ResultNotSerialisable"),
    ("datetime", JobState.DEAD_LETTER, "ResultNotSerialisable"),
    ("bytes", JobState.DEAD_LETTER, "ResultNotSerialisable"),
    ("large", JobState.DEAD_LETTER, "ResultTooLarge"),
]


def test_answers_that_json_or_postgresql_cannot_hold(own_database, tmp_path, queue):
    made = [submit(queue=queue, type="answer", payload={"what": what}) for what, _, _ in ANSWERS]
    with worker(own_database, tmp_path, *FAST, "--burst") as process:
        assert process.wait() == 0
    for (what, state, expected), job in zip(ANSWERS, made, strict=True):
        found = find(job.id)
        assert (what, found.state, found.attempt) == (what, state, 1)
        kept = found.result if state == JobState.COMPLETED else Attempt.objects.get(job_id=job.id).error_class
        assert kept == expected


def test_a_nul_in_an_error_a_line_and_progress_is_shown_not_stored(hands, queue):
    job = submit(queue=queue, type="raise.nul", max_attempts=1)
    assert final(job.id)[0].attempt == 1
    assert Attempt.objects.get(job_id=job.id).error_message == "bad \ufffd byte"
    assert JobLog.objects.get(job_id=job.id).message == "a line\ufffdwith NUL"
    assert final(submit(queue=queue, type="noop").id)[0].state == JobState.COMPLETED


def test_a_worker_says_what_it_can_in_json_lines(own_database, tmp_path, queue):
    job = submit(queue=queue, type="noop")
    with worker(own_database, tmp_path, *FAST, "--burst", LOG_FORMAT="json") as process:
        process.wait()
    lines = [json.loads(line) for line in process.output.splitlines()]
    assert any(line["event"] == "job finished" and line["job_id"] == str(job.id) for line in lines)


def test_a_report_the_database_refuses_does_not_end_the_worker(own_database, tmp_path, queue):
    """A day that nobody cut: loud in the log, harmless for what comes after it is cut."""
    own_database.must_hold = False
    today = f"{datetime.now(UTC):%Y%m%d}"
    with worker(own_database, tmp_path, *FAST, "--no-scheduler") as process:
        with own_database.connect(autocommit=True) as server:
            server.execute(f"ALTER TABLE jobs_attempt DETACH PARTITION jobs_attempt_d{today}")
            submit(queue=queue, type="noop")
            process.says("report refused")
            server.execute(f"DROP TABLE jobs_attempt_d{today}")
        partition()
        assert final(submit(queue=queue, type="noop").id)[0].state == JobState.COMPLETED


def test_children_start_when_their_last_parent_ends_not_at_the_next_poll(own_database, tmp_path, queue):
    parent = submit(queue=queue, type="effect")
    child = submit(queue=queue, type="effect", depends_on=[parent.id])
    with worker(own_database, tmp_path, "--poll-interval", "60", "--lease", "600", "--no-scheduler"):
        assert final(child.id)[0].state == JobState.COMPLETED
