"""The built-in PostgreSQL, each time in a project of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from config.guardian import LOOK

CONFIG = Path(__file__).parents[2] / "config"
AS_ROOT = os.geteuid() == 0
WITHOUT_URL = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}}

# Holds the server until its standard input ends; says where it is.
HOLDER = """
import sys
from django.conf import settings
settings.configure(DATABASE_URL=sys.argv[1])
from config import embedded
if sys.argv[2:]:
    embedded.is_closed = lambda path: True
embedded.ensure()
print(embedded.place().home, embedded.place().run, flush=True)
sys.stdin.read()
"""


class Project:
    """A copy of config/, and of the one module it asks of apps/, in a folder of its own, and the processes that use its server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.users: list[subprocess.Popen[str]] = []
        self.runs: set[Path] = set()
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(CONFIG, folder / "config")
        (folder / "apps").mkdir()
        shutil.copy(CONFIG.parent / "apps" / "errors.py", folder / "apps")

    def user(self, url: str = "", *flags: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, url, *flags]
        process = subprocess.Popen(
            command, cwd=self.folder, env=WITHOUT_URL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.users.append(process)
        return process

    def started(self, user: subprocess.Popen[str]) -> tuple[Path, Path]:
        assert user.stdout is not None
        home, run = map(Path, user.stdout.readline().split())
        self.runs.add(run)
        return home, run

    def close(self) -> None:
        """End all users, and wait for the server: a guardian leaves a removed folder alone."""
        for user in self.users:
            user.communicate("")
        assert eventually(lambda: not any(answers(run) for run in self.runs))


@pytest.fixture
def project() -> Iterator[Project]:
    """A project in a folder that everybody may enter, as most are."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-"))
    folder.chmod(0o755)
    project = Project(folder)
    yield project
    project.close()
    shutil.rmtree(folder)


def boot_of(run: Path) -> object:
    """When the server that answers there was started; two servers never agree on it."""
    with psycopg.connect(host=str(run), user="postgres", dbname="postgres") as connection:
        return connection.execute("SELECT pg_postmaster_start_time()").fetchone()


def answers(run: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(run / ".s.PGSQL.5432")) == 0


def eventually(fact: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not fact() and time.monotonic() < deadline:
        time.sleep(0.02)
    return fact()


def kill(user: subprocess.Popen[str]) -> None:
    user.send_signal(signal.SIGKILL)
    user.wait()


def test_two_that_start_at_once_share_one_server_which_stops_with_the_last(project):
    first, second = project.user(), project.user()
    home, run = project.started(first)
    assert project.started(second) == (home, run)
    boot = boot_of(run)
    first.communicate("")
    assert boot_of(run) == boot
    second.communicate("")
    assert eventually(lambda: not answers(run))


def test_it_stops_although_its_last_user_was_killed(project):
    user = project.user()
    _, run = project.started(user)
    kill(user)
    assert eventually(lambda: not answers(run))


def test_a_killed_user_takes_it_from_nobody_else(project):
    killed, other = project.user(), project.user()
    _, run = project.started(killed)
    project.started(other)
    boot = boot_of(run)
    kill(killed)
    time.sleep(0.5)
    assert boot_of(run) == boot


def test_who_comes_while_it_stops_gets_a_server_that_is_guarded_again(project):
    for _ in range(3):
        user = project.user()
        _, run = project.started(user)
        kill(user)  # and at once the next one
    last = project.user()
    project.started(last)
    assert boot_of(run)
    last.communicate("")
    assert eventually(lambda: not answers(run))


def test_a_server_that_was_killed_is_started_again_with_its_data(project):
    user = project.user()
    home, run = project.started(user)
    with psycopg.connect(host=str(run), user="postgres", dbname="postgres") as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
    boot = boot_of(run)
    os.kill(pid_of(home), signal.SIGKILL)
    assert eventually(lambda: seen(run) != boot)
    project.started(project.user())
    with psycopg.connect(host=str(run), user="postgres", dbname="postgres") as connection:
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)


def pid_of(home: Path) -> int:
    return int((home / "data" / "postmaster.pid").read_text().split()[0])


def test_a_server_that_was_killed_comes_back_for_those_who_use_it(project):
    user = project.user()
    home, run = project.started(user)
    for _ in range(2):
        boot = boot_of(run)
        os.kill(pid_of(home), signal.SIGKILL)
        assert eventually(lambda boot=boot: seen(run) not in (None, boot))  # type: ignore[misc]
    user.communicate("")
    assert eventually(lambda: not answers(run))


def seen(run: Path) -> object:
    """boot_of, or None while it is away or recovers."""
    try:
        return boot_of(run)
    except psycopg.OperationalError:
        return None


def test_a_server_that_was_stopped_by_hand_stays_so(project):
    user = project.user()
    home, run = project.started(user)
    os.kill(pid_of(home), signal.SIGINT)  # a fast shutdown
    assert eventually(lambda: not (home / "data" / "postmaster.pid").exists())
    time.sleep(3 * LOOK)
    assert not answers(run)


def test_with_a_database_url_nothing_is_started(project):
    project.started(project.user("postgres://elsewhere/db"))
    assert not (project.folder / "var").exists()


def test_reading_the_settings_starts_nothing(project):
    subprocess.run([sys.executable, "-c", "import config.settings"], cwd=project.folder, env=WITHOUT_URL, check=True)
    assert not (project.folder / "var").exists()


@pytest.fixture
def closed_project(project) -> Iterator[Project]:
    """A project below a folder that only its owner may enter, such as a home."""
    home = project.folder / "home"
    home.mkdir(mode=0o700)
    closed = Project(home / "project")
    yield closed
    closed.close()


@pytest.mark.parametrize("depth", [0, 100])
def test_no_mode_outside_the_project_is_changed(closed_project, depth):
    closed_project.folder = closed_project.folder / ("x" * depth)
    closed_project.folder.mkdir(exist_ok=True)
    shutil.copytree(CONFIG, closed_project.folder / "config", dirs_exist_ok=True)
    above = [*closed_project.folder.parents, Path(sys.prefix), *Path(sys.prefix).parents]
    modes = [folder.stat().st_mode for folder in above]
    user = closed_project.user()
    home, run = closed_project.started(user)
    try:
        assert boot_of(run)
        assert [folder.stat().st_mode for folder in above] == modes
        assert home.is_relative_to("/var/lib/fencepost" if AS_ROOT else closed_project.folder)
    finally:
        closed_project.close()
        shutil.rmtree(home)
        with suppress(OSError):  # others may have theirs beside it
            home.parent.rmdir()


@pytest.mark.skipif(not AS_ROOT, reason="only root serves as somebody else")
def test_binaries_the_account_cannot_reach_are_copied(project):
    user = project.user("", "the folders above the binaries are closed")
    home, run = project.started(user)
    assert boot_of(run)
    assert list(home.glob("pgsql-*/*/pginstall18/bin/postgres"))
