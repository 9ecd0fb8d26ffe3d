"""Thumbnails, contact sheets and albums, as a worker calls them."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID
from zipfile import ZipFile

import pytest
from PIL import Image

from apps import handlers
from apps.demo.services import inbox, pictures, pipeline
from apps.handlers import Discard
from apps.jobs import services
from tests.acts import enqueue, finish, take


@dataclass
class Ctx:
    job_id: UUID
    results: Path
    cancelled: bool = False
    steps: list[tuple[Any, ...]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def progress(self, done: int, total: int | None = None, stage: str = "", note: str = "") -> None:
        self.steps.append((done, total, stage))

    def log(self, message: str, level: str = "info") -> None:
        self.lines.append(message)

    def save(self, name: str, file: bytes | BinaryIO) -> str:
        folder = self.results / str(self.job_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file if isinstance(file, bytes) else file.read())
        return f"/api/v1/jobs/{self.job_id}/files/{name}"


@pytest.fixture
def results(settings, tmp_path: Path) -> Path:
    settings.RESULTS_DIR = tmp_path / "var" / "results"
    return tmp_path / "var" / "results"


@pytest.fixture
def folder(tmp_path: Path, results) -> Path:
    mine = tmp_path / "mine"
    mine.mkdir()
    return mine


def run(type: str, ctx: Ctx, payload: Any) -> Any:
    from apps.runtime.services import discover

    discover.handlers()
    entry = handlers.find(type)
    assert entry is not None
    return entry.call(ctx, payload)


def thumbnail(folder: Path, results: Path, name: str) -> tuple[Any, Image.Image, Ctx]:
    ctx = Ctx(UUID(int=1), results)
    result = run("image.thumbnail", ctx, {"picture": f"{inbox.admit(folder)}/{name}"})
    return result, Image.open(results / str(ctx.job_id) / "thumbnail.jpg"), ctx


def test_a_picture_becomes_a_thumbnail_and_says_how_far_it_is(folder, results):
    Image.new("RGB", (1600, 800), "red").save(folder / "a.jpg")
    result, small, ctx = thumbnail(folder, results, "a.jpg")
    assert small.size == (320, 160)
    assert (result["width"], result["height"]) == (1600, 800)
    assert result["thumbnail"].endswith("/thumbnail.jpg")
    assert ctx.steps == [(0, 3, "read"), (1, 3, "shrink"), (2, 3, "save"), (3, 3, "done")]


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I;16"])
def test_a_picture_of_any_mode_will_do(folder, results, mode):
    name = "a.tif"
    Image.new(mode, (400, 400)).save(folder / name)
    assert thumbnail(folder, results, name)[1].mode == "RGB"


def test_what_is_transparent_is_on_white(folder, results):
    Image.new("RGBA", (400, 400), (255, 0, 0, 0)).save(folder / "a.png")
    assert thumbnail(folder, results, "a.png")[1].getpixel((10, 10)) == (255, 255, 255)


def test_a_picture_that_was_taken_on_its_side_stands_upright(folder, results):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (800, 400)).save(folder / "a.jpg", exif=exif)
    assert thumbnail(folder, results, "a.jpg")[1].size == (160, 320)


def half(image: Image.Image, kind: str) -> bytes:
    file = BytesIO()
    image.save(file, kind)
    return file.getvalue()[: file.tell() // 2]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a picture",
        b"\xff\xd8\xff\xe0" + b"\0" * 100,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
        b"GIF89a\xff\xff\xff\xff",
        half(Image.effect_noise((300, 300), 90), "JPEG"),
        half(Image.effect_noise((300, 300), 90), "PNG"),
    ],
)
def test_a_file_that_cannot_be_read_ends_the_job_and_is_named(folder, results, content):
    (folder / "broken.jpg").write_bytes(content)
    with pytest.raises(Discard, match=r"broken\.jpg can't be read: .+") as caught:
        thumbnail(folder, results, "broken.jpg")
    assert str(folder) not in str(caught.value)


def test_a_picture_that_unpacks_to_gigabytes_is_not_unpacked(folder, results, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    Image.new("1", (100, 100)).save(folder / "bomb.png")
    with pytest.raises(Discard, match=r"bomb\.png can't be read"):
        thumbnail(folder, results, "bomb.png")


def test_a_full_disk_is_no_fault_of_the_picture(folder, results, monkeypatch):
    Image.new("RGB", (400, 400)).save(folder / "a.jpg")
    monkeypatch.setattr(Ctx, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        thumbnail(folder, results, "a.jpg")


# --- the sheet, and the album ---


def submit(queue, names: list[str]) -> tuple[UUID, list[UUID], UUID, UUID]:
    """A workflow of the demo: its id, its thumbnails, its sheet and its album."""
    jobs = pipeline._pictures(queue.name, [f"mine/{name}" for name in names])
    made = services.submit_workflow(project=queue.project, jobs=jobs)
    *thumbnails, sheet, album = [job.placed.job_id for job in made.jobs]
    return made.workflow.pk, thumbnails, sheet, album


def sheet_of(job_id: UUID, results: Path) -> tuple[Any, Image.Image]:
    result = run("image.contact_sheet", Ctx(job_id, results), {})
    return result, Image.open(results / str(job_id) / "contact-sheet.jpg")


def square(colour: str = "black") -> bytes:
    return pictures.jpeg(Image.new("RGB", (320, 320), colour))


def test_a_sheet_shows_every_picture_of_its_workflow_and_a_gap_where_one_failed(queue, results):
    _, jobs, job_id, _ = submit(queue, ["red.jpg", "broken.jpg", "blue.jpg"])
    for job, colour in ((jobs[0], "#ff0000"), (jobs[2], "#0000ff")):
        Ctx(job, results).save("thumbnail.jpg", square(colour))
    result, sheet = sheet_of(job_id, results)
    assert (result["pictures"], result["unreadable"]) == (2, 1)
    step, middle = pictures.TILE + pictures.GAP, pictures.GAP + pictures.TILE // 3
    near = [sheet.getpixel((middle + n * step, pictures.HEAD + pictures.TILE // 4)) for n in range(3)]
    assert near[0][0] > 240 > 20 > near[0][2]  # type: ignore[index]
    assert near[1] == pytest.approx((229, 231, 235), abs=4)
    assert near[2][2] > 240 > 20 > near[2][0]  # type: ignore[index]


def test_thumbnails_that_have_left_the_live_shelf_are_found(queue, session, results):
    _, jobs, sheet, _ = submit(queue, ["a.jpg", "b.jpg"])
    claims = take(session, queue, offers={"image.thumbnail": None})
    finish(session, *claims)
    Ctx(jobs[0], results).save("thumbnail.jpg", square())
    assert sheet_of(sheet, results)[0]["pictures"] == 1


def test_an_album_holds_the_sheet_and_every_thumbnail_that_there_is(queue, results):
    _, jobs, sheet, album = submit(queue, ["ä b.png", "broken.jpg", "c.jpg"])
    for job in (jobs[0], jobs[2]):
        Ctx(job, results).save("thumbnail.jpg", square())
    sheet_of(sheet, results)
    ctx = Ctx(album, results)
    assert run("image.publish", ctx, {})["pictures"] == 2
    with ZipFile(results / str(album) / "album.zip") as pack:
        assert pack.namelist() == ["contact-sheet.jpg", "0001 ä b.jpg", "0003 c.jpg"]
        assert pack.testzip() is None
    assert ctx.steps[-1] == (3, 3, "pack")


@pytest.mark.parametrize("type", ["image.contact_sheet", "image.publish"])
def test_a_step_without_its_workflow_ends_the_job(queue, results, type):
    with pytest.raises(Discard, match="step of a workflow"):
        run(type, Ctx(enqueue(queue, type=type), results), {"batch": str(UUID(int=0))})


def test_a_workflow_without_pictures_ends_the_job(queue, results):
    made = services.submit_workflow(
        project=queue.project, jobs=[{"name": "a", "queue": queue.name, "type": "image.contact_sheet"}]
    )
    with pytest.raises(Discard, match=r"no step image\.thumbnail"):
        run("image.contact_sheet", Ctx(made.jobs[0].placed.job_id, results), {})


def test_a_thousand_pictures_fit_on_one_sheet_with_names_as_long_as_names_get(queue, results):
    _, _, job_id, _ = submit(queue, [f"{n:04}-{'long name ' * 24}.jpg" for n in range(998)])
    result, sheet = sheet_of(job_id, results)
    assert result["unreadable"] == 998
    assert sheet.width == 20 * (pictures.TILE + pictures.GAP) + pictures.GAP
