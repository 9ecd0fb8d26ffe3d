"""The demo's job types: a thumbnail of one picture, one sheet of all of them, an album of what was approved; a film made small."""

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID
from zipfile import ZipFile

from django.conf import settings

from apps.demo.services import inbox, video
from apps.handlers import Context, Discard, handler
from apps.jobs.models import Job
from apps.jobs.selectors import find

THUMBNAIL, SHEET, ALBUM = "thumbnail.jpg", "contact-sheet.jpg", "album.zip"
FILM, SMALL = "film", "small.mp4"


class UnreadableFilm(Discard):
    """This file is no film, and will not become one."""


class UnreadablePicture(Discard):
    """This file is no picture, and will not become one."""


if find_spec("PIL"):  # an extra; where it is missing, no worker offers these types
    from apps.demo.services import pictures

    @handler("image.thumbnail", timeout=60)
    def thumbnail(ctx: Context, payload: Any) -> dict[str, Any]:
        """Shrink the picture that `picture` names. A file that cannot be read ends the job for good."""
        name = payload.get("picture") if isinstance(payload, dict) else None
        try:
            file = inbox.locate(name)
            ctx.progress(0, 3, "read")
            picture = pictures.read(file)
            width, height = pictures.size(file)
        except inbox.NoSuchPicture as error:
            raise Discard(str(error)) from error
        except pictures.Unreadable as error:
            raise UnreadablePicture(f"{name} can't be read: {error}") from error
        ctx.progress(1, 3, "shrink")
        small = pictures.shrink(picture)
        ctx.progress(2, 3, "save")
        address = ctx.save(THUMBNAIL, pictures.jpeg(small))
        ctx.progress(3, 3, "done")
        ctx.log(f"{width} × {height} became {small.width} × {small.height}")
        return {"picture": name, "width": width, "height": height, "thumbnail": address}

    @handler("image.contact_sheet", timeout=300)
    def contact_sheet(ctx: Context, payload: Any) -> dict[str, Any]:
        """Put the thumbnails of a workflow on one sheet, with a gap for each that failed."""
        jobs = _steps(ctx, "image.thumbnail")
        sheet = pictures.Sheet(len(jobs), f"{len(jobs)} pictures")
        missing = 0
        for place, (job_id, given) in enumerate(jobs):
            if ctx.cancelled:
                return {}
            file = _file(job_id, THUMBNAIL)
            missing += not sheet.put(place, Path(str(given.get("picture", job_id))).name, file)
            ctx.progress(place + 1, len(jobs), "paste")
        address = ctx.save(SHEET, pictures.jpeg(sheet.paper))
        if missing:
            ctx.log(f"{missing} of {len(jobs)} pictures could not be read", level="warning")
        return {"pictures": len(jobs) - missing, "unreadable": missing, "sheet": address}

    @handler("image.publish", timeout=300)
    def publish(ctx: Context, payload: Any) -> dict[str, Any]:
        """Put the sheet that was approved and its thumbnails into one album to take home."""
        jobs = _steps(ctx, "image.thumbnail")
        [(sheet, _), *_] = _steps(ctx, "image.contact_sheet")
        files = {SHEET: _file(sheet, SHEET)} | {
            f"{place:04} {Path(str(given.get('picture', ''))).stem}.jpg": _file(job_id, THUMBNAIL)
            for place, (job_id, given) in enumerate(jobs, 1)
        }
        there = {name: file for name, file in files.items() if file.is_file()}
        with TemporaryFile() as album:
            with ZipFile(album, "w") as pack:
                for done, (name, file) in enumerate(there.items(), 1):
                    pack.write(file, name)
                    ctx.progress(done, len(there), "pack")
            album.seek(0)
            address = ctx.save(ALBUM, album)
        return {"pictures": len(there) - 1, "album": address}


if video.there():  # a worker without ffmpeg does not offer these types

    @handler("media.probe", timeout=120)
    def probe(ctx: Context, payload: Any) -> dict[str, Any]:
        """Fetch the film that `film` names to this worker's workspace, where the other steps find it, and look at it."""
        name = payload.get("film") if isinstance(payload, dict) else None
        try:
            copyfile(inbox.locate(name), ctx.workspace / FILM)
            film = video.probe(ctx.workspace / FILM)
        except inbox.NoSuchPicture as error:
            raise Discard(str(error)) from error
        except video.Unreadable as error:
            raise UnreadableFilm(f"{name} can't be read: {error}") from error
        ctx.log(f"{film.seconds:.1f} s of {film.width} × {film.height} in {film.codec}")
        return {"film": name, **asdict(film)}

    @handler("media.transcode", timeout=1800)
    def transcode(ctx: Context, payload: Any) -> dict[str, Any]:
        """Make a small film of the one that was probed here."""
        source = ctx.workspace / FILM
        try:
            total = video.probe(source).seconds
            if not video.shrink(source, ctx.workspace / SMALL, told=lambda done: _so_far(ctx, done, total)):
                return {}
        except video.Unreadable as error:
            raise UnreadableFilm(f"It can't be transcoded: {error}") from error
        _so_far(ctx, total, total)
        with (ctx.workspace / SMALL).open("rb") as small:
            return {"film": ctx.save(SMALL, small), **asdict(video.probe(ctx.workspace / SMALL))}


def _so_far(ctx: Context, done: float, total: float) -> bool:
    """Tell how far it is, in milliseconds of the film; False when it is to end."""
    ctx.progress(min(round(done * 1000), round(total * 1000)), round(total * 1000), "transcode")
    return not ctx.cancelled


def _steps(ctx: Context, type: str) -> list[tuple[UUID, dict[str, Any]]]:
    """The jobs of this type in the job's own workflow, with their payloads, in the order they were submitted."""
    mine = find(ctx.job_id)
    if mine.workflow_id is None:
        raise Discard("This is a step of a workflow of pictures; it does nothing alone.")
    jobs = Job.objects.filter(workflow_id=mine.workflow_id, queue_id=mine.queue_id, type=type)
    found = list(jobs.order_by("id").values_list("id", "payload"))
    if not found:
        raise Discard(f"This workflow has no step {type}.")
    return found


def _file(job_id: UUID, name: str) -> Path:
    """What a job has saved, if it has."""
    return Path(settings.RESULTS_DIR) / str(job_id) / name
