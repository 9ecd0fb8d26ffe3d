"""Films, by the real ffmpeg: looked at, made small, and submitted as workflows that stay on one worker."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from apps.demo.services import inbox, video
from apps.demo.services.cast import Cast
from apps.demo.services.pipeline import Python, submit
from apps.handlers import Discard
from apps.jobs.models import Job, Workflow
from tests.demo.test_handlers import Ctx, run

pytestmark = pytest.mark.skipif(not video.there(), reason="needs ffmpeg")


@dataclass
class Working(Ctx):
    """A run that has a workspace, and is cancelled once it has told so many steps."""

    workspace: Path = Path()
    ends_after: int = 1_000_000

    def progress(self, done: int, total: int | None = None, stage: str = "", note: str = "") -> None:
        super().progress(done, total, stage, note)
        self.cancelled = len(self.steps) >= self.ends_after


@pytest.fixture
def ctx(settings, tmp_path: Path) -> Working:
    settings.RESULTS_DIR = tmp_path / "var" / "results"
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Working(UUID(int=1), tmp_path / "var" / "results", workspace=workspace)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mine = tmp_path / "mine"
    mine.mkdir()
    return mine


def probe(ctx: Working, folder: Path, name: str) -> Any:
    return run("media.probe", ctx, {"film": f"{inbox.admit(folder)}/{name}"})


def test_a_film_is_fetched_looked_at_and_made_small(ctx, folder):
    video.paint(folder / "-y ü.mp4", seconds=2)
    seen = probe(ctx, folder, "-y ü.mp4")
    assert (seen["width"], seen["height"], seen["seconds"]) == (640, 360, pytest.approx(2, abs=0.1))
    made = run("media.transcode", ctx, {})
    assert (made["width"], made["height"], made["seconds"]) == (426, 240, pytest.approx(2, abs=0.1))
    assert made["film"].endswith("/small.mp4")
    done = [step[0] for step in ctx.steps]
    assert done == sorted(done)
    assert ctx.steps[-1] == (2000, 2000, "transcode")


def test_a_cancelled_one_ends_in_the_middle_and_keeps_nothing(ctx, folder):
    video.paint(folder / "a.mp4", seconds=60)
    probe(ctx, folder, "a.mp4")
    ctx.ends_after = 1
    assert run("media.transcode", ctx, {}) == {}
    assert len(ctx.steps) == 1
    assert ctx.steps[0][0] < 60_000
    assert not (ctx.results / str(ctx.job_id)).exists()


@pytest.mark.parametrize("content", [b"", b"no film", b"\x00\x00\x00\x18ftypmp42" + b"\0" * 50])
def test_a_file_that_is_no_film_ends_the_job_and_is_named(ctx, folder, content):
    (folder / "broken.mp4").write_bytes(content)
    with pytest.raises(Discard, match=r"broken\.mp4 can't be read: .+"):
        probe(ctx, folder, "broken.mp4")


def test_a_list_that_names_other_files_of_the_server_is_no_film(ctx, folder, tmp_path):
    video.paint(tmp_path / "secret.ts", seconds=1)
    (folder / "list.mp4").write_text(f"ffconcat version 1.0\nfile '{tmp_path}/secret.ts'\n")
    with pytest.raises(Discard, match="can't be read"):
        probe(ctx, folder, "list.mp4")


def test_what_was_not_probed_here_cannot_be_transcoded(ctx):
    with pytest.raises(Discard, match="can't be transcoded"):
        run("media.transcode", ctx, {})


def test_each_film_is_a_workflow_that_stays_on_one_worker(queue, user):
    door = Python(Cast(queue=queue, path="acme/media/images", member=user, logins=[]))
    made = submit(door, ["mine/a.jpg", "mine/b.MP4", "mine/c.mkv"])
    assert (len(made.workflows), made.jobs) == (3, 7)
    films = Workflow.objects.filter(pk__in=made.workflows[1:])
    assert {film.name for film in films} == {"b.MP4", "c.mkv"}
    steps = Job.objects.filter(workflow_id__in=made.workflows[1:])
    assert {job.placement for job in steps} == {"dispatch"}


def test_without_ffmpeg_a_film_is_a_file_like_any_other(queue, user, monkeypatch):
    monkeypatch.setattr(video, "there", lambda: False)
    door = Python(Cast(queue=queue, path="acme/media/images", member=user, logins=[]))
    assert submit(door, ["mine/a.jpg", "mine/b.mp4"]).jobs == 4
