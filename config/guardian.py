"""Stops the built-in PostgreSQL after the last of its users. Started by config/embedded.py; standard library only."""

import fcntl
import os
import subprocess
import sys


def main(holders: str, guard: str, uid: str, gid: str, *stop: str) -> None:
    as_account = {"user": int(uid), "group": int(gid), "extra_groups": []} if uid else {}
    with open(holders) as file:  # noqa: PTH123 - pathlib would be half of this process's memory
        fcntl.flock(file, fcntl.LOCK_EX)  # granted once nobody holds a share any more
        if _is_current(holders, file.fileno()):
            subprocess.run(stop, check=False, **as_account)  # type: ignore[call-overload]  # noqa: S603
        os.close(int(guard))  # before the lock above: whoever comes next must see that nobody guards


def _is_current(path: str, descriptor: int) -> bool:
    """False when var/ was removed and made anew: the server there is not the one we guard."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
