"""The faults of the database and of the way to it. Each strikes everybody at once."""

import signal
import time
from contextlib import suppress
from random import Random

import psycopg

from apps.bench.services.chaos.proxy import DOWN, UP
from apps.bench.services.chaos.registry import fault
from apps.bench.services.chaos.server import FAST, HOG, IMMEDIATE
from apps.bench.services.chaos.stage import Stage

REFUSED = "remaining connection slots are reserved"
READ_ONLY = "in a read-only transaction"


@fault("terminate-backends")
def terminate_backends(stage: Stage, dice: Random) -> int:
    """pg_terminate_backend on random connections, again and again for a second."""
    bit, end = 0, time.monotonic() + 1.0
    while time.monotonic() < end:
        bit += stage.server.terminate(limit=dice.randint(1, 4))
        stage.hold(0.1)
    return bit


@fault("restart-fast")
def restart_fast(stage: Stage, dice: Random) -> int:
    """Restart the server; whoever is connected is sent away."""
    return _away(stage, FAST)


@fault("restart-immediate")
def restart_immediate(stage: Stage, dice: Random) -> int:
    """Crash the server, and let it recover."""
    return _away(stage, IMMEDIATE)


@fault("stop-server")
def stop_server(stage: Stage, dice: Random) -> int:
    """The server is away for longer than a lease."""
    return _away(stage, FAST, stage.lease + dice.uniform(0.5, 3))


def _away(stage: Stage, how: signal.Signals, seconds: float = 0.0) -> int:
    bit = stage.server.backends()
    stage.server.stop(how)
    try:
        stage.hold(seconds)
    finally:
        stage.server.start()
    return bit


@fault("connection-limit")
def connection_limit(stage: Stage, dice: Random) -> int:
    """Every connection the server has is taken, and those of the product are ended."""
    before, end = stage.server.said(REFUSED), time.monotonic() + dice.uniform(1.5, 3)
    taken: list[psycopg.Connection] = []
    try:
        for ended in (False, True):
            _take_all(stage, taken)
            if not ended:
                stage.server.terminate(limit=20)
        while time.monotonic() < end:
            _take_all(stage, taken)
            stage.hold(0.1)
    finally:
        for connection in taken:
            connection.close()
    return stage.server.said(REFUSED) - before


def _take_all(stage: Stage, taken: list[psycopg.Connection]) -> None:
    with suppress(psycopg.OperationalError):
        while True:
            taken.append(stage.server.connect(HOG))


@fault("read-only")
def read_only(stage: Stage, dice: Random) -> int:
    """The server refuses to write for a while, as a standby would."""
    before = stage.server.said(READ_ONLY)
    stage.server.configure("default_transaction_read_only = on")
    try:
        stage.server.terminate()
        stage.hold(dice.uniform(1, 3))
    finally:
        stage.server.configure()
    return stage.server.said(READ_ONLY) - before


@fault("cut")
def cut(stage: Stage, dice: Random) -> int:
    """Every connection is cut, and new ones are refused."""
    before = stage.proxy.broken
    _for(stage, dice.uniform(0.2, 1.5), cut=True)
    return stage.proxy.broken - before


@fault("pause-up")
def pause_up(stage: Stage, dice: Random) -> int:
    """Nothing reaches the server, and nobody is told."""
    return _silence(stage, dice, UP)


@fault("pause-down")
def pause_down(stage: Stage, dice: Random) -> int:
    """Nothing comes back from the server, and nobody is told."""
    return _silence(stage, dice, DOWN)


def _silence(stage: Stage, dice: Random, way: str) -> int:
    before = stage.proxy.delayed
    _for(stage, dice.uniform(0.3, 1.5 * stage.lease), held=frozenset({way}))
    return stage.proxy.delayed - before


@fault("latency")
def latency(stage: Stage, dice: Random) -> int:
    """The way to the server and back is slow."""
    before = stage.proxy.delayed
    _for(stage, dice.uniform(1, 3), latency=dice.uniform(0.02, 0.15))
    return stage.proxy.delayed - before


@fault("reply-lost")
def reply_lost(stage: Stage, dice: Random) -> int:
    """What was sent is committed; the reply is held back, then the connection is cut."""
    before = stage.proxy.broken
    for _ in range(3):
        _for(stage, 0.25, held=frozenset({DOWN}))
        _for(stage, 0.05, held=frozenset({DOWN}), cut=True)
        stage.hold(dice.uniform(0.3, 0.6))
    return stage.proxy.broken - before


def _for(stage: Stage, seconds: float, **how: object) -> None:
    """Set the proxy so for a while, then let everything through."""
    try:
        for name, value in how.items():
            setattr(stage.proxy, name, value)
        stage.hold(seconds)
    finally:
        stage.proxy.calm()
