"""Pools: slots that are kept for some work, so that no other work eats them."""

import pytest

from apps.errors import BadInput
from apps.handlers import handler
from apps.jobs.models import Job
from apps.jobs.services import submit
from apps.jobs.states import JobState
from apps.runtime.supervisor.pool import PoolSpec, parse, types_of
from apps.workers.models import Session
from tests.factories import QueueFactory
from tests.processes import Process, effects, final, until, worker

FAST = ("--poll-interval", "0.2", "--lease", "30", "--processes", "0")


def running(queue):
    return Job.objects.filter(queue=queue, state=JobState.RUNNING).count()


def test_background_work_takes_only_its_own_slots_and_leaves_the_others_theirs(own_database, tmp_path, queue):
    background = QueueFactory.create(project=queue.project, name="background")
    made = [submit(queue=background, type="effect.patient", payload={"seconds": 60}) for _ in range(6)]
    with worker(own_database, tmp_path, *FAST, "--concurrency", "2", "--pool", "slow:2=background"):
        until(lambda: running(background) == 2)
        done = [submit(queue=queue, type="effect").id for _ in range(4)]
        assert {job.state for job in final(*done)} == {JobState.COMPLETED}
        assert running(background) == 2
        [session] = Session.objects.filter(ended_at=None, fenced_at=None)
        assert session.concurrency == 4
        assert session.pools == {"default": {"slots": 2}, "slow": {"slots": 2, "for": ["background"]}}
    assert len(effects()) == 6
    assert len(made) == 6


def test_the_default_pool_full_of_work_leaves_a_pool_its_slots(own_database, tmp_path, queue):
    mail = QueueFactory.create(project=queue.project, name="mail")
    for _ in range(6):
        submit(queue=queue, type="effect.patient", payload={"seconds": 60})
    path = f"{queue.project.organization.slug}/{queue.project.slug}/mail"
    with worker(own_database, tmp_path, *FAST, "--concurrency", "2", "--pool", f"mail:1={path}"):
        until(lambda: running(queue) == 2)
        assert final(submit(queue=mail, type="effect").id)[0].state == JobState.COMPLETED
        assert running(queue) == 2


def test_a_pool_of_a_type_takes_it_from_every_queue_and_alone(own_database, tmp_path, queue):
    for _ in range(4):
        submit(queue=queue, type="effect.patient", payload={"seconds": 60})
    with worker(own_database, tmp_path, *FAST, "--concurrency", "3", "--pool", "patient:1=type:effect.patient"):
        until(lambda: running(queue) == 1)
        done = [submit(queue=queue, type="effect").id for _ in range(6)]
        final(*done)
        assert running(queue) == 1


def test_burst_ends_when_every_pool_is_empty(own_database, tmp_path, queue):
    other = QueueFactory.create(project=queue.project, name="other")
    made = [submit(queue=one, type="noop").id for one in (queue, other) for _ in range(20)]
    with worker(own_database, tmp_path, *FAST, "--burst", "--pool", "more:2=other") as process:
        assert process.wait() == 0
    assert {job.state for job in final(*made)} == {JobState.COMPLETED}


def test_what_a_pool_is_for_is_read(settings):
    assert parse(["media:8=transcode, package", " ", "mail:1=type:mail.send"]) == (
        PoolSpec("media", 8, ("transcode", "package")),
        PoolSpec("mail", 1, ("type:mail.send",)),
    )


@pytest.mark.parametrize(
    "text", ["media", "media:=a", "media:0=a", "media:1=", "media:1=a,type:b", "Media:1=a", "default:1=a", "m:99999=a"]
)
def test_what_is_no_pool_is_refused_by_name(text):
    with pytest.raises(BadInput, match="--pool"):
        parse([text])


def test_two_pools_of_one_name_are_refused():
    with pytest.raises(BadInput, match="already"):
        parse(["a:1=b", "a:2=c"])


def test_a_pool_of_what_is_not_served_is_refused_at_the_start(own_database, tmp_path, queue):
    process = Process("runworker", "--pool", "a:1=nowhere", database=own_database, log=tmp_path / "log")
    assert process.wait() == 2
    assert "--pool names nowhere" in process.output
    assert "Traceback" not in process.output


def test_a_pool_of_a_type_takes_its_other_names_too():
    @handler("pool.new", aliases=("pool.old",))
    def work(ctx, payload): ...

    specs = parse(["a:1=type:pool.new"])
    offered = ["noop", "pool.new", "pool.old"]
    assert types_of(specs[0], specs, offered) == ["pool.new", "pool.old"]
    assert types_of(None, specs, offered) == ["noop"]
