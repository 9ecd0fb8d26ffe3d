"""The demo's two job types: a thumbnail of one picture, and one sheet of all of them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.demo.services import inbox
from apps.handlers import Context, Discard, handler
from apps.jobs.models import Job
from apps.jobs.selectors import find

THUMBNAIL, SHEET = "thumbnail.jpg", "contact-sheet.jpg"


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
        """Put the thumbnails of a batch on one sheet, with a gap for each that failed."""
        jobs = _batch(ctx, payload)
        sheet = pictures.Sheet(len(jobs), f"{len(jobs)} pictures")
        missing = 0
        for place, (job_id, given) in enumerate(jobs):
            if ctx.cancelled:
                return {}
            file = Path(settings.RESULTS_DIR) / str(job_id) / THUMBNAIL
            missing += not sheet.put(place, Path(str(given.get("picture", job_id))).name, file)
            ctx.progress(place + 1, len(jobs), "paste")
        address = ctx.save(SHEET, pictures.jpeg(sheet.paper))
        if missing:
            ctx.log(f"{missing} of {len(jobs)} pictures could not be read", level="warning")
        return {"pictures": len(jobs) - missing, "unreadable": missing, "sheet": address}


def _batch(ctx: Context, payload: Any) -> list[tuple[UUID, dict[str, Any]]]:
    """The thumbnails of a batch in this job's own queue, in the order they were submitted."""
    try:
        batch_id = UUID(str(payload["batch"]))
    except (TypeError, KeyError, ValueError) as error:
        raise Discard("The payload names a batch: {'batch': id}.") from error
    mine = find(ctx.job_id)
    jobs = Job.objects.filter(batch_id=batch_id, queue_id=mine.queue_id, type="image.thumbnail")
    found = list(jobs.order_by("id").values_list("id", "payload"))
    if not found:
        raise Discard("There is no such batch of thumbnails in this queue.")
    return found
