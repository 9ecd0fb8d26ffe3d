"""Processes of our own kind for a benchmark: forked, let go together, and ended with its block."""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.pool import Pool
from typing import Any

from django.db import connections

from apps.bench.services.ground import ENDINGS
from apps.jobs.engine.wake import hush

_gathering: Any = None  # of this process and its brothers: a pool hands it on in no other way


@contextmanager
def forks(count: int) -> Iterator[Pool]:
    """So many. None may inherit a connection, so all of ours are closed."""
    hush()
    connections.close_all()
    forked = multiprocessing.get_context("fork")
    with forked.Pool(count, _begin, (forked.Barrier(count),)) as pool:
        yield pool


def together() -> None:
    """Wait here until all of them have come so far."""
    _gathering.wait()


def _begin(gathering: Any) -> None:
    """Ended by whoever made us, and by nobody else."""
    global _gathering
    _gathering = gathering
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
