"""Stops the built-in PostgreSQL after the last of its users, and starts it again when it was killed under them.

Started by config/embedded.py; standard library only.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Sequence

LOOK, PATIENCE = 0.5, 10.0  # seconds: between two looks, and after a start that failed


def main(home: str, guard: str, uid: str, gid: str, *commands: str) -> None:
    """`commands`: how to stop, two dashes, how to start."""
    holders, account = os.path.join(home, "holders.lock"), (int(uid), int(gid)) if uid else None  # noqa: PTH118
    stop, start = commands[: commands.index("--")], commands[commands.index("--") + 1 :]
    with open(holders) as file:  # noqa: PTH123 - pathlib would be half of this process's memory
        while not _locked(file.fileno()):  # granted once nobody holds a share any more
            time.sleep(LOOK)
            if _is_current(holders, file.fileno()) and _is_killed(home) and not _revived(home, start, account):
                time.sleep(PATIENCE)
        if _is_current(holders, file.fileno()):
            _run(stop, account)
        os.close(int(guard))  # before the lock above: whoever comes next must see that nobody guards


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_killed(home: str) -> bool:
    """Its pid is written down and nobody has it. A server that was stopped by hand has taken its pid away, and stays so."""
    try:
        with open(os.path.join(home, "data", "postmaster.pid")) as file:  # noqa: PTH118, PTH123
            os.kill(int(file.readline()), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _revived(home: str, start: Sequence[str], account: tuple[int, int] | None) -> bool:
    """Under the lock of those who start it (config/embedded.py); whoever was quicker has done so already."""
    with open(os.path.join(home, "start.lock"), "a") as lock:  # noqa: PTH118, PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)
        return not _is_killed(home) or _run(start, account) == 0


def _run(command: Sequence[str], account: tuple[int, int] | None) -> int:
    user, group = account or (None, None)
    silent = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    others: list[int] | None = [] if account else None
    done = subprocess.run(  # noqa: S603
        command, check=False, user=user, group=group, extra_groups=others, env={**silent, "LC_ALL": "C"}
    )
    return done.returncode


def _is_current(path: str, descriptor: int) -> bool:
    """False when var/ was removed and made anew: the server there is not the one we guard."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
