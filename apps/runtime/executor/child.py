"""The supervisor's end of one executor process: what runs there, what is to be sent, what came back."""

import asyncio
import contextlib
import mmap
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from uuid import UUID

import structlog

from apps.jobs.engine.heartbeat import Told as Progress
from apps.runtime.executor import frames
from apps.runtime.executor.forkserver import Death, ForkServer
from apps.runtime.executor.frames import Began, Done, Frame, Garbled, Halt, Said, Serve, Start, Told
from apps.runtime.executor.inside import BOARD, PAGE, TAKEN
from apps.runtime.executor.run import Run, Stop

DEAF_AFTER = 1.0  # seconds without an answer after which nothing more is sent
LOOK_BEFORE = 0.05  # seconds a process has to write down where it stands before it is killed

log = structlog.get_logger("fencepost.worker")

type OnDone = Callable[[Run, Done], None]


class Child:
    """One executor. Orders are sent once for each turn of the event loop; a slow reader's wait in a buffer."""

    def __init__(self, *, number: int, server: ForkServer, session_id: UUID, slots: int, on_done: OnDone) -> None:
        self.loop = asyncio.get_running_loop()
        self.number, self.server, self.on_done = number, server, on_done
        self.pid = 0  # until it is born
        self.runs: dict[int, Run] = {}
        self.serials = 0
        self.retiring = False  # gets nothing more, and ends when it has nothing left
        self.alone = False  # for one run only
        self.guilty: Run | None = None  # for whose sake it is killed
        self.unanswered: float | None = None  # when the oldest order without an answer was sent
        self.orders: list[Frame] = [Serve(session_id, slots)]
        self.going = bytearray()
        self.coming = bytearray()
        self.board = os.memfd_create("board") if hasattr(os, "memfd_create") else _unnamed()
        os.ftruncate(self.board, PAGE)
        self.page = mmap.mmap(self.board, PAGE)
        self.fence = threading.Lock()
        try:
            self.line, theirs = socket.socketpair()
        except OSError:
            self.page.close()
            os.close(self.board)
            raise
        self.line.setblocking(False)
        server.spawn(number, theirs.fileno(), self.board)
        theirs.close()
        self.loop.add_reader(self.line, self.read)
        self.loop.call_soon(self._flush)

    @property
    def deaf(self) -> bool:
        """Its event loop is blocked: what it was sent is not even looked at."""
        return self.unanswered is not None and time.monotonic() - self.unanswered > DEAF_AFTER

    def start(self, run: Run) -> None:
        self.serials += 1
        run.child, run.serial = self, self.serials
        self.runs[run.serial] = run
        claim = run.claim
        self._order(
            Start(
                run.serial,
                claim.job_id,
                claim.queue_id,
                run.queue,
                claim.type,
                claim.payload,
                claim.attempt,
                claim.max_attempts,
                claim.fence,
                claim.generation,
                claim.deadline_at,
                claim.workflow_id,
                claim.request_id,
                claim.approved,
            )
        )

    def halt(self, run: Run, why: Stop) -> None:
        self._order(Halt(run.serial, why.value))

    def kill(self, guilty: Run | None = None) -> None:
        """End the process; it writes down first where it stands."""
        self.retiring = True
        if self.guilty is not None:
            return
        self.guilty = guilty
        if guilty is not None and guilty.stop is Stop.RELEASED:
            self.server.kill(self.number)
            return
        self.server.look(self.number)
        self.loop.call_later(LOOK_BEFORE, self.server.kill, self.number)

    def retire(self) -> None:
        """Let it end as soon as nothing runs in it."""
        self.retiring = True
        if not self.runs:
            self._close()

    def take_back(self) -> list[Run]:
        """What has not begun, to be run elsewhere: this executor is blocked, and will skip it when it is not.

        Both sides write before they read what the other has written: what we do not see begun will see itself taken.
        """
        begun = self._begun()
        TAKEN.pack_into(self.page, BOARD.size, begun + 1, self.serials)
        with self.fence:
            begun = self._begun()
        taken = [self.runs.pop(serial) for serial in sorted(self.runs) if serial > begun]
        self.orders = [one for one in self.orders if not isinstance(one, Start)]
        return taken

    def _begun(self) -> int:
        [serial] = BOARD.unpack_from(self.page, 0)
        return int(serial)

    # --- sending ---

    def _order(self, frame: Frame) -> None:
        if not self.orders:
            self.loop.call_soon(self._flush)
        self.orders.append(frame)

    def _flush(self) -> None:
        if not self.orders or self.line.fileno() < 0:
            return
        orders, self.orders = self.orders, []
        if self.unanswered is None and not isinstance(orders[-1], Serve):
            self.unanswered = time.monotonic()
        if not self.going:
            self.loop.add_writer(self.line, self._write)
        self.going += frames.pack(orders)
        self._write()

    def _write(self) -> None:
        try:
            del self.going[: self.line.send(self.going)]
        except BlockingIOError:
            return
        except OSError:
            self.going.clear()  # it is dead: the server tells how
        if not self.going:
            self.loop.remove_writer(self.line)

    # --- hearing ---

    def read(self) -> None:
        """Take what has come. What is no frame ends the process: a handler has written into our socket."""
        data = frames.receive(self.line)
        if data is None:
            self.loop.remove_reader(self.line)
            return
        self.unanswered = None
        self.coming += data
        try:
            for word in frames.unpack(self.coming, frames.words):
                self._hear(word)
        except Garbled as error:
            log.error("executor speaks nonsense", pid=self.pid, error=str(error))
            self.coming.clear()
            self.kill()

    def _hear(self, word: Began | Said | Told | Done) -> None:
        if isinstance(word, Began):
            return
        run = self.runs.get(word.serial)
        if run is None:
            return
        if isinstance(word, Done):
            del self.runs[word.serial]
            self.on_done(run, word)
            if self.retiring and not self.runs:
                self._close()
        elif isinstance(word, Said):
            run.say(word.message, word.level)
        else:
            run.tell(Progress(run.claim.job_id, word.done, word.total, word.stage, word.note))

    # --- the end ---

    def bury(self) -> tuple[int, str]:
        """Hear its last words; answers the last serial that began there and what faulthandler wrote."""
        if self.line.fileno() >= 0:
            self._read_all()
        last = self._begun()
        written = os.pread(self.board, 1 << 16, PAGE).decode(errors="replace")
        self._close()
        self.page.close()
        os.close(self.board)
        return last, written

    def _read_all(self) -> None:
        with contextlib.suppress(OSError):
            while data := self.line.recv(frames.CHUNK):
                self.coming += data
        with contextlib.suppress(Garbled):
            for word in frames.unpack(self.coming, frames.words):
                self._hear(word)

    def _close(self) -> None:
        if self.line.fileno() >= 0:
            self.loop.remove_reader(self.line)
            self.loop.remove_writer(self.line)
            self.line.close()


def _unnamed() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def how(death: Death) -> dict[str, object]:
    """For the log."""
    return {"exit": death.exit, "signal": death.signal, "peak_mib": death.peak_bytes >> 20}
