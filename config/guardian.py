"""Stops the built-in PostgreSQL after the last of its users. Started by config/embedded.py; standard library only."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence


def main(holders: str, guard: str, uid: str, gid: str, *stop: str) -> None:
    with open(holders) as file:  # noqa: PTH123 - pathlib would be half of this process's memory
        fcntl.flock(file, fcntl.LOCK_EX)  # granted once nobody holds a share any more
        if _is_current(holders, file.fileno()):
            _stop(stop, int(uid) if uid else None, int(gid) if gid else None)
        os.close(int(guard))  # before the lock above: whoever comes next must see that nobody guards


def _stop(command: Sequence[str], user: int | None, group: int | None) -> None:
    others: list[int] | None = [] if user is not None else None
    subprocess.run(command, check=False, user=user, group=group, extra_groups=others)  # noqa: S603


def _is_current(path: str, descriptor: int) -> bool:
    """False when var/ was removed and made anew: the server there is not the one we guard."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
