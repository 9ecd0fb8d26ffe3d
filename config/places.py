"""Where the built-in PostgreSQL lives. Nothing here changes the mode of a folder that was there before."""

import hashlib
import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

PROJECT = Path(__file__).resolve().parent.parent
ROOTS_HOME = Path("/var/lib/fencepost")  # for root, where the project stands in a closed folder
ACCOUNTS = ("postgres", "pgserver", "nobody")  # who serves when we are root, whom PostgreSQL refuses
LONGEST_SOCKET = 103  # bytes a socket's path may have everywhere


class CannotServe(RuntimeError):
    """The built-in PostgreSQL could not be started; set DATABASE_URL to use another."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server lives, and as whom it runs: `account` is None when that is ourselves."""

    home: Path
    run: Path
    account: pwd.struct_passwd | None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def socket(self) -> Path:
        return self.run / ".s.PGSQL.5432"


def url() -> str:
    """The address of the server, whether it runs or not."""
    return f"postgres://postgres:@/{quote(str(place().run))}/postgres"


@cache
def place() -> Place:
    """Decide by the project's path and our user alone, so that every process finds the same place."""
    home = PROJECT / "var" / "postgres"
    if os.geteuid() != 0:
        return Place(home, _run_folder(home), None)
    if is_closed(home) or _too_long(home / "run"):
        home = ROOTS_HOME / _digest()
    return Place(home, home / "run", _account(home / "data"))


def _digest() -> str:
    return hashlib.sha256(os.fsencode(PROJECT)).hexdigest()[:12]


def is_closed(path: Path) -> bool:
    """Is there a folder above that other users may not pass?"""
    return any(not folder.stat().st_mode & stat.S_IXOTH for folder in path.parents if folder.exists())


def _too_long(run: Path) -> bool:
    return len(os.fsencode(run / ".s.PGSQL.5432")) > LONGEST_SOCKET


def _run_folder(home: Path) -> Path:
    """The folder of the socket: beside the data, or one of our own elsewhere when that path is too long."""
    if not _too_long(home / "run"):
        return home / "run"
    postmaster = home / "data" / "postmaster.pid"
    if postmaster.exists() and len(lines := postmaster.read_text().splitlines()) > 4:
        return Path(lines[4])  # a running server decides, whatever TMPDIR says today
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"fencepost-{os.geteuid()}" / _digest()


def _account(data: Path) -> pwd.struct_passwd:
    """The owner of the data, if there is any yet; else the first account that exists."""
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return pwd.getpwuid(owner)
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ACCOUNTS:
        if name in known:
            return known[name]
    raise CannotServe(f"PostgreSQL does not run as root, and none of {', '.join(ACCOUNTS)} exists here.")


def prepare(here: Place) -> None:
    """Make the folder that is ours; one that exists already keeps the mode it has."""
    make_folder(here.home.parent, 0o755)
    make_folder(here.home, 0o700 if here.account is None else 0o755)
    if here.account is None:
        _demand_owner(here.home, os.geteuid())


def prepare_run(here: Place) -> None:
    """Make the socket's folder. One at a time: it is root's for the moment until it is given to the server's account."""
    if here.run.parent != here.home:
        make_folder(here.run.parent, 0o700)
    make_folder(here.run, 0o700, here.account)
    _demand_owner(here.run, here.account.pw_uid if here.account else os.geteuid())


def _demand_owner(folder: Path, owner: int) -> None:
    """In a shared temporary folder anybody may have made it first; and root may have been here before us."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner:
        raise CannotServe(f"{folder} belongs to another user: remove it, or set DATABASE_URL.")


def make_folder(folder: Path, mode: int, account: pwd.struct_passwd | None = None) -> None:
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        return
    folder.chmod(mode)  # whatever the umask took away
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
