"""Executors: handlers run in processes of their own, and what happens to those is seen at once (cases H17, H18)."""

import os
import signal

import psutil
import pytest

from apps.audit.record import Actor
from apps.jobs.models import Attempt, JobLog, Progress
from apps.jobs.selectors import find
from apps.jobs.services import cancel, submit, submit_batch
from apps.jobs.states import JobState
from apps.queues.models import RetryPolicy
from tests.processes import Process, effects, final, until, worker

FAST = ("--poll-interval", "0.2", "--lease", "30")
ONE = (*FAST, "--processes", "1")


@pytest.fixture
def at_once(queue):
    """A queue whose jobs are tried again without a pause."""
    policy = RetryPolicy.objects.create(
        project=queue.project, name="at once", kind="fixed", base_delay_ms=0, jitter=False, max_attempts=3
    )
    queue.retry_policy = policy
    queue.save()
    return queue


def outcomes(job_id):
    return list(Attempt.objects.filter(job_id=job_id).order_by("started_at").values_list("outcome", flat=True))


def descendants(process: Process) -> list[psutil.Process]:
    return psutil.Process(process.popen.pid).children(recursive=True)


def test_handlers_run_in_children_of_a_fork_server_with_numbers_of_their_own(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST, "--processes", "2") as process:
        made = [submit(queue=queue, type="effect", payload={"seconds": 0.5}) for _ in range(4)]
        final(*[job.id for job in made])
        ran_in = {pid for job in made for _, pid, _ in effects(job.id)}
        assert len(ran_in) == 2
        [server] = psutil.Process(process.popen.pid).children()
        assert {child.pid for child in server.children()} == ran_in
        assert all(os.getsid(pid) == pid for pid in ran_in)


@pytest.mark.parametrize(
    ("how", "said", "runtime"),
    [
        ("SIGKILL", "was ended by SIGKILL", {"signal": 9}),
        ("segfault", "was ended by SIGSEGV", {"signal": 11}),
        ("exit", "ended with exit status 7", {"exit": 7}),
    ],
)
def test_a_crash_is_seen_at_once_with_what_is_known_of_it(own_database, tmp_path, at_once, how, said, runtime):
    with worker(own_database, tmp_path, *ONE) as process:
        job = submit(queue=at_once, type="die", payload={"how": how}, max_attempts=1)
        [ended] = final(job.id)
        assert (ended.state, ended.reason) == (JobState.DEAD_LETTER, "lost_exhausted")
        [attempt] = Attempt.objects.filter(job_id=job.id)
        assert (attempt.outcome, attempt.error_class) == ("crashed", "Crashed")
        assert said in (attempt.error_message or "")
        assert attempt.runtime
        assert attempt.runtime.items() >= runtime.items()
        assert attempt.runtime["peak_memory_bytes"] > 10 << 20
        if how == "segfault":
            assert "in die" in (attempt.traceback or "")
        assert list(attempt_lines(job.id)) == ["last words"]
        assert final(submit(queue=at_once, type="effect").id)[0].state == JobState.COMPLETED
        assert process.popen.poll() is None


def attempt_lines(job_id):
    return JobLog.objects.filter(job_id=job_id).order_by("line").values_list("message", flat=True)


@pytest.mark.chaos
def test_a_poison_job_is_tried_as_often_as_it_may_and_its_neighbours_finish(own_database, tmp_path, at_once):
    """Case H18, eight innocents in the same process; four of them on their last attempt."""
    innocent = [
        submit(queue=at_once, type="effect", payload={"seconds": 3}, max_attempts=1 if n < 4 else 3) for n in range(8)
    ]
    with worker(own_database, tmp_path, *ONE, "--concurrency", "9"):
        until(lambda: len(effects()) == 8)
        poison = submit(queue=at_once, type="die", payload={"how": "SIGKILL"}, max_attempts=3)
        assert final(poison.id)[0].state == JobState.DEAD_LETTER
        assert outcomes(poison.id) == ["crashed"] * 3
        assert len(effects(poison.id)) == 3
        assert {job.state for job in final(*[job.id for job in innocent], within=60)} == {JobState.COMPLETED}
    for job in innocent[:4]:
        assert outcomes(job.id) == ["released", "success"]
        assert find(job.id).releases == 1
    for job in innocent[4:]:
        assert outcomes(job.id) == ["crashed", "success"]
    told = Attempt.objects.filter(job_id=innocent[0].pk, outcome="released").get()
    assert (told.error_class, told.error_message) == (
        "Collateral",
        "Its process died while other jobs ran in it.",
    )


def test_after_a_crash_a_job_runs_alone(own_database, tmp_path, at_once):
    others = [submit(queue=at_once, type="effect", payload={"seconds": 2}) for _ in range(2)]
    with worker(own_database, tmp_path, *ONE):
        until(lambda: len(effects()) == 2)
        poison = submit(queue=at_once, type="die", payload={"how": "SIGKILL", "seconds": 0.2}, max_attempts=3)
        final(poison.id, *[job.id for job in others])
    later = [pid for _, pid, _ in effects(poison.id)][1:]
    assert len(set(later)) == 2
    assert not {pid for job in others for _, pid, _ in effects(job.id)} & set(later)


def test_a_deaf_function_is_ended_by_force_and_its_neighbour_handed_back(own_database, tmp_path, at_once):
    """A hard time limit is a kill: the ledger says where it stood, the neighbour spends no attempt."""
    with worker(own_database, tmp_path, *ONE, "--concurrency", "2"):
        neighbour = submit(queue=at_once, type="effect", payload={"seconds": 4}, max_attempts=1)
        until(lambda: effects(neighbour.id))
        deaf = submit(queue=at_once, type="brief.deaf", payload={"seconds": 60}, max_attempts=1)
        assert final(deaf.id)[0].state == JobState.DEAD_LETTER
        [attempt] = Attempt.objects.filter(job_id=deaf.id)
        assert attempt.outcome == "timeout"
        assert "in brief_deaf" in (attempt.traceback or "")
        assert final(neighbour.id)[0].state == JobState.COMPLETED
    assert outcomes(neighbour.id) == ["released", "success"]
    assert find(neighbour.id).releases == 1
    assert [ended for _, _, ended in effects(deaf.id)] == [False]


@pytest.mark.chaos
@pytest.mark.parametrize("how", ["hog", "block"])
def test_a_handler_that_holds_everything_up_starves_no_heartbeat(own_database, tmp_path, queue, how):
    """Case H17: three leases long, and it is one run; what comes meanwhile runs in the other process."""
    quick = ("--poll-interval", "0.2", "--lease", "1", "--processes", "2")
    with worker(own_database, tmp_path, *quick), worker(own_database, tmp_path, *quick, name="idle"):
        job = submit(queue=queue, type=how, payload={"seconds": 3})
        until(lambda: effects(job.id))
        others = submit_batch(queue=queue, jobs=[{"type": "noop"} for _ in range(20)]).jobs
        final(*[one.job_id for one in others])
        assert final(job.id)[0].state == JobState.COMPLETED
    assert outcomes(job.id) == ["success"]
    assert len(effects(job.id)) == 1


def test_a_cancelled_function_that_does_not_listen_is_ended_after_the_grace(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE, "--heartbeat", "0.2", "--cancel-grace", "0.5"):
        job = submit(queue=queue, type="effect", payload={"seconds": 60})
        until(lambda: effects(job.id))
        cancel(job_id=job.id, actor=Actor(name="system"))
        assert final(job.id)[0].state == JobState.CANCELLED
    assert outcomes(job.id) == ["cancelled"]


def test_what_a_handler_started_ends_with_its_executor(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE, "--cancel-grace", "0.2", "--heartbeat", "0.2") as process:
        job = submit(queue=queue, type="litter", payload={"seconds": 60}, timeout_ms=1000, max_attempts=1)
        until(lambda: Progress.objects.filter(job_id=job.id).exists())
        left = psutil.Process(Progress.objects.get(job_id=job.id).done)
        assert left.name() == "sleep"
        final(job.id)
        until(lambda: not left.is_running())
        until(lambda: not [one for one in descendants(process) if one.status() == psutil.STATUS_ZOMBIE])


@pytest.mark.parametrize("ending", ["the time limit", "a killed worker"])
def test_what_has_left_the_group_of_its_executor_ends_with_it_too(own_database, tmp_path, queue, ending):
    """A program that began a session of its own is an orphan when its executor ends: the fork server finds it."""
    with worker(own_database, tmp_path, *ONE) as process:
        limit = 1000 if ending == "the time limit" else None
        job = submit(
            queue=queue, type="litter", payload={"seconds": 60, "away": True}, max_attempts=1, timeout_ms=limit
        )
        until(lambda: Progress.objects.filter(job_id=job.id).exists())
        left = psutil.Process(Progress.objects.get(job_id=job.id).done)
        if ending == "a killed worker":
            os.kill(process.popen.pid, signal.SIGKILL)
            process.popen.wait()
        until(lambda: not left.is_running() or left.status() == psutil.STATUS_ZOMBIE)


def test_children_of_a_handler_obey_signals_as_anywhere(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE):
        [job] = final(submit(queue=queue, type="multiply").id)
    assert job.result == [-signal.SIGTERM, [0, 1, 4]]
    assert not JobLog.objects.filter(job_id=job.id).exists()  # theirs are not the attempt's


def test_a_copy_that_a_coroutine_forks_of_its_process_is_no_executor(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE) as process:
        job = submit(queue=queue, type="copy.itself")
        assert final(job.id)[0].state == JobState.COMPLETED
        others = submit_batch(queue=queue, jobs=[{"type": "speak.patient", "payload": n} for n in range(50)]).jobs
        assert {one.state for one in final(*[one.job_id for one in others])} == {JobState.COMPLETED}
        assert final(job.id)[0].result == "original"
        # The copy has ended; that nobody waited for it is the handler's business.
        until(lambda: len([one for one in descendants(process) if one.status() != psutil.STATUS_ZOMBIE]) == 2)
        assert process.popen.poll() is None


def test_a_supervisor_that_is_killed_takes_everything_with_it(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE) as process:
        job = submit(queue=queue, type="litter", payload={"seconds": 60})
        until(lambda: effects(job.id))
        family = descendants(process)
        assert len(family) == 3  # the fork server, the executor, and what the handler has started
        os.kill(process.popen.pid, signal.SIGKILL)
        process.popen.wait()
        until(lambda: not [one for one in family if one.is_running() and one.status() != psutil.STATUS_ZOMBIE])


def test_a_worker_whose_fork_server_is_killed_ends_as_failed_and_loses_nothing(own_database, tmp_path, at_once):
    with worker(own_database, tmp_path, *ONE) as process:
        job = submit(queue=at_once, type="meddle", payload={"what": "parent"}, max_attempts=1)
        assert process.wait() == 1
        assert "the fork server died" in process.output
        assert "Traceback" not in process.output
    assert find(job.id).state == JobState.DEAD_LETTER
    assert outcomes(job.id) == ["crashed"]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_worker_that_was_told_to_stop(own_database, tmp_path, queue, ending):
    """The whole group is told, as by Ctrl-C: executors leave it to the supervisor what that means."""
    with worker(own_database, tmp_path, *FAST) as process:
        job = submit(queue=queue, type="effect", payload={"seconds": 1})
        until(lambda: effects(job.id))
        family = descendants(process)
        os.killpg(process.popen.pid, ending)
        assert process.wait() == 0
        assert not [one for one in family if one.is_running()]
        assert "Traceback" not in process.output
    assert outcomes(job.id) == ["success"]


def test_a_second_signal_hands_back_what_runs_in_executors(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *FAST) as process:
        job = submit(queue=queue, type="effect", payload={"seconds": 60}, max_attempts=1)
        until(lambda: effects(job.id))
        process.send(signal.SIGTERM)
        process.says("worker drains")
        process.send(signal.SIGTERM)
        assert process.wait(within=10) == 0
    assert (find(job.id).state, find(job.id).attempt) == (JobState.QUEUED, 0)
    assert find(job.id).releases == 0
    assert outcomes(job.id) == ["released"]


def test_an_executor_is_replaced_after_so_many_jobs(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE, "--concurrency", "2", "--jobs-per-process", "5") as process:
        made = submit_batch(queue=queue, jobs=[{"type": "where"} for _ in range(20)]).jobs
        ran_in = [job.result[0] for job in final(*[job.job_id for job in made])]
        assert len(set(ran_in)) >= 3
        assert max(ran_in.count(pid) for pid in ran_in) <= 6  # a second one may be on its way already
        until(lambda: len(psutil.Process(process.popen.pid).children()[0].children()) == 1)
    assert {outcome for job in made for outcome in outcomes(job.job_id)} == {"success"}


def test_an_executor_that_has_grown_is_replaced(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE, "--memory-per-process", "300") as process:
        [first] = final(submit(queue=queue, type="where").id)
        final(submit(queue=queue, type="eat", payload={"mib": 320, "keep": True}).id)
        process.says("executor recycled")
        [second] = final(submit(queue=queue, type="where").id)
    assert first.result[0] != second.result[0]


def test_what_a_handler_held_when_it_failed_is_let_go(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, *ONE, "--concurrency", "1") as process:
        for type in ("raise.heavily", "raise.heavily.patient"):
            made = [submit(queue=queue, type=type, payload=50, max_attempts=1).id for _ in range(8)]
            final(*made)
        [executor] = psutil.Process(process.popen.pid).children()[0].children()
        assert executor.memory_info().rss < 300 << 20


def test_executors_never_make_the_same_id(own_database, tmp_path, queue):
    """What was random before a fork must differ after it."""
    with worker(own_database, tmp_path, *FAST, "--processes", "3"):
        made = submit_batch(queue=queue, jobs=[{"type": "new.ids", "payload": {"seconds": 0.3}} for _ in range(6)]).jobs
        ids = [one for job in final(*[job.job_id for job in made]) for one in job.result]
    assert len(ids) == len(set(ids)) == 600
