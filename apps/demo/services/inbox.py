"""Where the demo's pictures are found: each folder of them has one name under var/demo.

A job names a picture as "folder/file", and only folders that the demo's operator put here are read: a
payload, which any member may submit, must not open whatever file of the server it likes.
"""

import hashlib
from pathlib import Path, PurePosixPath

from django.conf import settings


class NoSuchPicture(Exception):
    """A name that leads to no file of a folder in here."""


def place() -> Path:
    """The folder of the demo's folders, beside the results; made when it is missing."""
    folder = Path(settings.RESULTS_DIR).parent / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def admit(folder: Path) -> str:
    """Let the files of a folder be named by jobs; answers its name in here, the same each time."""
    folder = folder.resolve(strict=True)
    digest = hashlib.sha256(str(folder).encode(errors="surrogateescape")).hexdigest()[:8]
    link = place() / f"{folder.name or 'root'}-{digest}"
    if not link.is_symlink():
        link.symlink_to(folder, target_is_directory=True)
    return link.name


def pictures(name: str) -> list[str]:
    """Names of the files of a folder in here, as jobs give them. Hidden files and subfolders are not pictures."""
    found = (place() / name).iterdir()
    return sorted(f"{name}/{file.name}" for file in found if file.is_file() and not file.name.startswith("."))


def locate(name: object) -> Path:
    """The file that a job means."""
    if not isinstance(name, str) or "\0" in name:
        raise NoSuchPicture("The payload names a picture: {'picture': 'folder/file'}.")
    parts = PurePosixPath(name).parts
    if len(parts) != 2 or {"/", ".."} & set(parts):
        raise NoSuchPicture(f"{name[:255]!r} is not of the form folder/file.")
    file = place().joinpath(*parts)
    if not file.is_file():
        raise NoSuchPicture(f"There is no file {name[:255]!r}.")
    return file
