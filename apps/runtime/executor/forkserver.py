"""Where executors come from: a process that does nothing but fork, started before any thread or connection.

multiprocessing has one too, but it waits with waitpid: the peak memory of a process that died would be lost. Ours
asks wait4, ends whatever a dead executor has left behind, and goes with the supervisor, however that one ends.

Requests and reports travel over a stream socket pair in fixed sizes: a letter and the executor's number, and for a
birth the descriptors; back come the number, the process id and how it ended (wait4's status, KiB, seconds).
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import psutil
import structlog
from django.db import connections

from apps.runtime.executor.fitness import refuse_to_fork

REQUEST = struct.Struct("!cI")
REPORT = struct.Struct("!cIiiQd")
BORN, DIED = b"B", b"D"
MARK = "FENCEPOST_EXECUTOR"  # in the environment of an executor and of what it starts
SPAWN, KILL, LOOK = b"S", b"K", b"L"
LAST_PATIENCE = 5.0  # seconds the server has to end after its executors

log = structlog.get_logger("fencepost.worker")

type Main = Callable[[socket.socket, int], None]


@dataclass(frozen=True, slots=True)
class Death:
    """How a process ended: its exit status or the signal that ended it, its peak memory, its processor seconds."""

    exit: int | None
    signal: int | None
    peak_bytes: int
    seconds: float


class ForkServer:
    """The supervisor's end. Made in a process without threads; used from the event loop."""

    def __init__(self, main: Main) -> None:
        refuse_to_fork()
        connections.close_all()
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _serve(theirs, main, parent)
        theirs.close()
        ours.setblocking(False)
        self.control = ours
        self.gone = False

    def spawn(self, number: int, *descriptors: int) -> None:
        """Ask for an executor that gets copies of these descriptors."""
        self._ask(SPAWN, number, descriptors)

    def kill(self, number: int) -> None:
        """End an executor and all it has started; one that is dead already is no error."""
        self._ask(KILL, number)

    def look(self, number: int) -> None:
        """Have an executor write down where each of its threads stands (faulthandler, on SIGUSR1)."""
        self._ask(LOOK, number)

    def _ask(self, what: bytes, number: int, descriptors: tuple[int, ...] = ()) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # gone: `read` tells
            socket.send_fds(self.control, [REQUEST.pack(what, number)], list(descriptors))

    def read(self) -> list[tuple[int, int, Death | None]]:
        """What happened: (number, process id, None for a birth). `gone` is set when the server itself has died."""
        news = []
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while data := self.control.recv(REPORT.size * 64):
                news += [_told(*one) for one in REPORT.iter_unpack(data)]
            self.gone = True
        return news

    def close(self) -> None:
        """End the server, and with it every executor; wait for it, so that no zombie is left."""
        self.control.close()
        _wait(self.pid)


def _told(
    what: bytes, number: int, pid: int, status: int, peak_kib: int, seconds: float
) -> tuple[int, int, Death | None]:
    if what == BORN:
        return number, pid, None
    code = os.waitstatus_to_exitcode(status)
    peak = peak_kib if sys.platform == "darwin" else peak_kib * 1024
    return number, pid, Death(code if code >= 0 else None, -code if code < 0 else None, peak, seconds)


def _wait(pid: int) -> None:
    """Until it has ended; no longer than the last patience, then by force."""
    timer = threading.Timer(LAST_PATIENCE, os.kill, (pid, signal.SIGKILL))
    timer.start()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    timer.cancel()


# --- the server's own process ---


def _serve(control: socket.socket, main: Main, parent: int) -> NoReturn:
    try:
        if os.getppid() == parent:
            _Server(control, main).run()
    except BaseException:  # noqa: BLE001 — nothing above this line is ours
        traceback.print_exc()
    os._exit(70)


class _Server:
    def __init__(self, control: socket.socket, main: Main) -> None:
        self.control, self.main = control, main
        self.pids: dict[int, int] = {}  # number → process id
        self.bell, self.ring = os.pipe()
        os.set_blocking(self.bell, False)
        os.set_blocking(self.ring, False)
        signal.set_wakeup_fd(self.ring, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _ignore)  # Ctrl-C reaches the whole group: the supervisor decides what it means
        _control(_SUBREAPER, 1)

    def run(self) -> NoReturn:
        """Until the supervisor is gone: its end of the socket closes, whatever killed it."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.bell, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.bell in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.bell, 4096)
                self._reap()
            if self.control.fileno() in ready:
                self._obey()

    def _obey(self) -> None:
        try:
            request, descriptors, _, _ = socket.recv_fds(self.control, REQUEST.size, 4)
        except ConnectionResetError:
            request, descriptors = b"", []
        if len(request) < REQUEST.size:
            self._end()
        what, number = REQUEST.unpack(request)
        if what == SPAWN:
            self._spawn(number, descriptors)
        elif number in self.pids:
            if what == KILL:
                _kill_group(self.pids[number])
            else:
                os.kill(self.pids[number], signal.SIGUSR1)

    def _spawn(self, number: int, descriptors: list[int]) -> None:
        pid = self._fork(number, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid is None:
            self._report(DIED, number, 0, 70 << 8, 0, 0.0)
        else:
            self.pids[number] = pid
            self._report(BORN, number, pid, 0, 0, 0.0)

    def _fork(self, number: int, descriptors: list[int]) -> int | None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            sys.stderr.write(f"no process for an executor: {error}\n")
            return None
        if pid == 0:
            os.environ[MARK] = f"{server}/{number}"
            _become(self, descriptors, server)
        return pid

    def _reap(self) -> None:
        """Bury the dead, strangers too: orphans of executors come to us. What a dead executor started ends with it."""
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                number = next((number for number, pid in self.pids.items() if pid == found.si_pid), None)
                if number is not None:
                    _kill_group(found.si_pid)  # before the burial: until then nobody else has this number
                pid, status, usage = os.wait4(found.si_pid, 0)
                if number is not None:
                    del self.pids[number]
                    self._end_orphans(number)
                    self._report(DIED, number, pid, status, usage.ru_maxrss, usage.ru_utime + usage.ru_stime)

    def _end_orphans(self, number: int | None = None) -> None:
        """What has left its executor's group came to us when that one died; it carries its mark. None: everything."""
        with contextlib.suppress(psutil.Error):
            for orphan in psutil.Process().children(recursive=number is None):
                with contextlib.suppress(psutil.Error, OSError):
                    if orphan.pid not in self.pids.values() and (
                        number is None or orphan.environ().get(MARK) == _mark(number)
                    ):
                        orphan.kill()

    def _report(self, what: bytes, *facts: float) -> None:
        try:
            self.control.sendall(REPORT.pack(what, *facts))
        except OSError:
            self._end()

    def _end(self) -> NoReturn:
        for pid in self.pids.values():
            _kill_group(pid)
        self._end_orphans()
        with contextlib.suppress(ChildProcessError):
            for pid in self.pids.values():
                os.waitpid(pid, 0)
        os._exit(0)


def _mark(number: int) -> str:
    return f"{os.getpid()}/{number}"


def _kill_group(pid: int) -> None:
    """The executor leads a group of its own. Right after its birth it does not lead it yet: then it alone."""
    with contextlib.suppress(ProcessLookupError):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)


def _ignore(_number: int, _frame: object) -> None:
    """Stay. A Python function, not SIG_IGN: that one would be inherited by programs that handlers start."""


# --- the executor's own process ---

_SUBREAPER, _PARENT_DEATH = 36, 1  # of prctl(2)


def _become(server: _Server, descriptors: list[int], parent: int) -> NoReturn:
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        for descriptor in (server.bell, server.ring):
            os.close(descriptor)
        server.control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _control(_PARENT_DEATH, signal.SIGKILL)
        if os.getppid() == parent:
            server.main(socket.socket(fileno=descriptors[0]), descriptors[1])
            code = 0
    except BaseException:  # noqa: BLE001 — nothing above this line is ours
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _control(option: int, value: int) -> None:
    """Say something to the kernel about this process; Linux only, elsewhere the closed socket has to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
