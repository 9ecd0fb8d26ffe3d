"""Folders that handlers work in: whose they are, how long they stay, and that nobody leaves their root."""

import asyncio
from pathlib import Path

import pytest
from uuid_utils.compat import uuid7

from apps.jobs import services
from apps.jobs.engine.workspaces import Over
from apps.jobs.models import Workflow
from apps.runtime.executor.workspace import clear, kept, workspace
from apps.runtime.supervisor.tidying import Tidying
from apps.runtime.supervisor.wire import Wire
from tests import acts
from tests.jobs.aims import aimed, workflow
from tests.jobs.looks import ANN, fail_for_good
from tests.processes import final, until, worker


@pytest.fixture
def root(settings, tmp_path) -> Path:
    settings.WORKSPACE_DIR = tmp_path / "workspaces"
    return Path(tmp_path / "workspaces")


def tidy():
    async def once():
        wire = Wire("claims")
        try:
            await Tidying(wire).tidy()
        finally:
            await wire.close()

    asyncio.run(once())


def taken(session, queue):
    [one] = acts.take(session, queue) or aimed(session, queue)
    return one


def test_a_job_of_its_own_has_a_folder_of_its_own(own_database, root, queue, session):
    acts.enqueue(queue)
    one = taken(session, queue)
    folder = workspace(one)
    assert folder == root / "jobs" / str(one.job_id)
    assert folder.is_dir()
    assert workspace(one) == folder


def test_jobs_of_a_workflow_share_one_for_each_generation(own_database, root, queue, session):
    flow, _ = workflow(queue)
    one, other = aimed(session, queue)
    (workspace(one) / "probe.json").write_text("{}")
    assert [path.name for path in workspace(other).iterdir()] == ["probe.json"]
    Workflow.objects.filter(pk=flow.pk).update(generation=2)
    assert workspace(other) == root / str(flow.pk) / "2"
    assert set(kept()) == {Over(flow.pk, 1), Over(flow.pk, 2)}


def test_it_stays_as_long_as_anything_of_the_workflow_may_run(own_database, root, queue, session):
    _, [first, second] = workflow(queue)
    one, other = aimed(session, queue)
    folder = workspace(one)
    acts.finish(session, one)
    tidy()
    assert folder.exists()
    acts.finish(session, other, outcome="permanent_error")
    tidy()
    assert folder.exists()  # it may be replayed
    services.discard(job_id=other.job_id, actor=ANN)
    tidy()
    assert list(root.iterdir()) == []


def test_an_older_generation_goes_while_the_next_one_runs(own_database, root, queue, session):
    flow, _ = workflow(queue, jobs=1)
    [one] = aimed(session, queue)
    old = workspace(one)
    Workflow.objects.update(generation=2)
    new = workspace(one)
    tidy()
    assert (old.exists(), new.exists()) == (False, True)


def test_a_jobs_own_folder_goes_with_the_job_and_not_with_an_attempt(own_database, root, queue, session):
    job = acts.enqueue(queue)
    one = taken(session, queue)
    folder = workspace(one)
    acts.finish(session, one, outcome="retryable_error", delay_ms=0)
    tidy()
    assert folder.exists()
    fail_for_good(session, queue, job)
    tidy()
    assert not folder.exists()


def test_what_is_no_folder_of_ours_is_left_alone(own_database, root):
    for name in ("notes", "jobs/notes", f"{uuid7()}/notes", f"{str(uuid7()).upper()}/1"):
        (root / name).mkdir(parents=True)
    before = sorted(root.rglob("*"))
    tidy()
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("place", ["the folder", "above it"])
def test_a_link_leads_nobody_out_of_the_root(place, own_database, root, queue, session, tmp_path):
    outside = tmp_path / "outside"
    (outside / "1").mkdir(parents=True)
    (outside / "1" / "precious").write_text("x")
    flow, _ = workflow(queue, jobs=1)
    [one] = aimed(session, queue)
    root.mkdir()
    if place == "above it":
        (root / str(flow.pk)).symlink_to(outside)
    else:
        (root / str(flow.pk)).mkdir()
        (root / str(flow.pk) / "1").symlink_to(outside / "1")
    with pytest.raises(OSError, match="is a link"):
        workspace(one)
    acts.finish(session, one)
    tidy()
    assert (outside / "1" / "precious").exists()
    assert not any(path.is_symlink() for path in root.rglob("*"))


def test_links_inside_are_removed_and_not_followed(root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    folder = root / "jobs" / (name := str(uuid7()))
    folder.mkdir(parents=True)
    (folder / "way out").symlink_to(outside)
    clear(Over(type(uuid7())(name), None))
    assert not folder.exists()
    assert (outside / "precious").exists()


@pytest.mark.parametrize("flags", [(), ("--processes", "0")])
def test_handlers_of_a_workflow_meet_in_it_and_a_later_boot_clears_it(flags, own_database, tmp_path, queue, root):
    env = {"WORKSPACE_DIR": str(root)}
    flow, jobs = workflow(queue, jobs=2, type="work.here")
    with worker(own_database, tmp_path, "--poll-interval", "0.1", "--concurrency", "1", *flags, **env) as process:
        seen = [job.result for job in final(*jobs)]
        process.kill()
    assert sorted(seen, key=len) == [[str(jobs[0])], sorted(map(str, jobs))]
    folder = root / str(flow.pk) / "1"
    folder.mkdir(parents=True, exist_ok=True)  # as if it had died before it looked
    with worker(own_database, tmp_path, "--poll-interval", "0.1", *flags, **env):
        until(lambda: not folder.exists())
