"""What Linux tells of processes, without a package for it."""

from contextlib import suppress
from pathlib import Path

KB = 1024


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, left = set[int](), [pid]
    while left:
        found.add(one := left.pop())
        left += children.get(one, [])
    return found


def memory(pid: int) -> int:
    """Bytes that are resident."""
    return int(_status(pid).get("VmRSS", "0 kB").split()[0]) * KB


def threads(pid: int) -> int:
    return int(_status(pid).get("Threads", "0"))


def files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
