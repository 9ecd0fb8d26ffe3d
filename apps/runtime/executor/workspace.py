"""Folders that handlers work in: one for each generation of a workflow on a worker, and one for a job without any.

WORKSPACE_DIR/<workflow>/<generation> and WORKSPACE_DIR/jobs/<job>. What handlers leave there may be anything, links
included: none is followed out of the root, neither by who works there next nor by who clears it away.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.conf import settings

from apps.jobs.engine.claim import Claim
from apps.jobs.engine.workspaces import Over, generation_of
from apps.sql import open_own

JOBS = "jobs"


def workspace(claim: Claim) -> Path:
    """The folder of an attempt, made if it is not there. Raises OSError where something else stands in its place."""
    if claim.workflow_id is None:
        return _made(JOBS, str(claim.job_id))
    with open_own() as connection:  # a coroutine may not use Django's
        found = generation_of.through(connection, workflow_id=claim.workflow_id)
    return _made(str(claim.workflow_id), str(found[0] if found else 1))


def kept() -> list[Over]:
    """The folders there are; what is named otherwise is none of ours."""
    root = _root()
    return [*_of_workflows(root), *(Over(one, None) for one in _ids(root / JOBS))]


def clear(folder: Over) -> None:
    """Remove a folder with all that is in it; a link is removed, and what it points to stays."""
    path = _root() / JOBS / str(folder.id)
    if folder.generation is not None:
        path = _root() / str(folder.id) / str(folder.generation)
    if path.parent.is_symlink() or path.is_symlink():
        (path.parent if path.parent.is_symlink() else path).unlink(missing_ok=True)
        return
    shutil.rmtree(path, ignore_errors=True)
    if folder.generation is not None:
        with suppress(OSError):  # another generation is there still, or came just now
            path.parent.rmdir()


def _root() -> Path:
    return Path(settings.WORKSPACE_DIR).resolve()


def _made(*parts: str) -> Path:
    root = _root()
    root.mkdir(parents=True, exist_ok=True)
    path = root
    for part in parts:
        path /= part
        path.mkdir(mode=0o700, exist_ok=True)
        if path.is_symlink():
            raise NotADirectoryError(f"{path} is a link.")
    return path


def _of_workflows(root: Path) -> Iterator[Over]:
    for one in _ids(root):
        folder = root / str(one)
        if folder.is_symlink():
            yield Over(one, 0)
            continue
        for inner in _names(folder):
            if inner.isascii() and inner.isdigit() and len(inner) < 10:
                yield Over(one, int(inner))


def _ids(folder: Path) -> Iterator[UUID]:
    for name in _names(folder):
        with suppress(ValueError):
            if str(UUID(name)) == name:
                yield UUID(name)


def _names(folder: Path) -> list[str]:
    try:
        return [] if folder.is_symlink() else [path.name for path in folder.iterdir()]
    except OSError:  # not there, or no folder
        return []
