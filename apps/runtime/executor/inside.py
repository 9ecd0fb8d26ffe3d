"""The executor's own process: an event loop and threads that run handlers, and the socket to the supervisor."""

import asyncio
import contextlib
import faulthandler
import fcntl
import gc
import mmap
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from uuid import UUID

import uvloop

from apps import handlers
from apps.jobs.engine.claim import Claim
from apps.jobs.engine.heartbeat import Told as Progress
from apps.jobs.engine.report import Ended
from apps.runtime.executor import capture, frames
from apps.runtime.executor.frames import Began, Done, Frame, Halt, Said, Serve, Start, Told
from apps.runtime.executor.inprocess import InProcess
from apps.runtime.executor.run import Run, Stop

SAFE = 64  # our descriptors stand above this number: handlers that close low ones do not close ours
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # that an executor leaves to the supervisor
COLLECT = (2000, 10, 10)  # handlers may leave circles behind; the supervisor, which leaves none, collects less often
TOLD_EVERY = 0.1  # seconds between two words about progress
BOARD = struct.Struct("@Q")  # at the board's beginning: the last serial that began
TAKEN = struct.Struct("@QQ")  # then the first and last serial that the supervisor has taken back
PAGE = mmap.PAGESIZE  # … and from here on, what faulthandler writes


def main(line: socket.socket, board: int) -> None:
    """Serve until the supervisor closes the line. Runs in the main thread of a new process."""
    line, board = _raised(line), _raised_number(board)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    low = [null]
    with contextlib.suppress(OSError):
        while low[-1] < SAFE:
            low.append(os.open(os.devnull, os.O_RDWR))
    os.lseek(board, PAGE, os.SEEK_SET)
    faulthandler.enable(file=board)
    faulthandler.register(signal.SIGUSR1, file=board, all_threads=True)
    gc.set_threshold(*COLLECT)
    capture.install()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        inside = Inside(runner.get_loop(), line, mmap.mmap(board, PAGE))
        os.register_at_fork(before=_hold_signals, after_in_parent=_let_signals, after_in_child=inside.disown)
        runner.run(inside.serve(low))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # threads of handlers that do not end keep nobody


def _raised_number(descriptor: int) -> int:
    raised = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, SAFE)
    os.close(descriptor)
    return raised


def _raised(line: socket.socket) -> socket.socket:
    raised = socket.socket(fileno=_raised_number(line.detach()))
    raised.setblocking(False)
    return raised


def _hold_signals() -> None:
    """Around a fork: one that is sent to the copy at once must find it with signals of its own."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _let_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


class InsideRun(Run):
    """What a handler says goes to the supervisor at once: a process that dies then has said it."""

    __slots__ = ("inside",)

    def __init__(self, frame: Start, inside: "Inside", handler: handlers.Handler) -> None:
        claim = Claim(
            job_id=frame.job_id,
            queue_id=frame.queue_id,
            type=frame.type,
            payload=frame.payload,
            attempt=frame.attempt,
            max_attempts=frame.max_attempts,
            fence=frame.fence,
            generation=frame.generation,
            deadline_at=frame.deadline_at,
            limit_seconds=0.0,  # the supervisor's clock is the one that counts
            workflow_id=frame.workflow_id,
            request_id=frame.request_id,
            approved=frame.approved,
        )
        super().__init__(claim, handler, frame.queue)
        self.serial = frame.serial
        self.inside = inside

    def keep(self, message: str, level: str) -> None:
        self.inside.write([Said(self.serial, message, level)])

    def tell(self, told: Progress) -> None:
        self.told = told
        self.inside.wants_to_tell()


class Inside:
    def __init__(self, loop: asyncio.AbstractEventLoop, line: socket.socket, board: mmap.mmap) -> None:
        self.loop, self.line, self.board = loop, line, board
        self.closed = asyncio.Event()
        self.coming = bytearray()
        self.going = bytearray()
        self.writing = threading.Lock()  # handlers' threads write too
        self.runs: dict[int, InsideRun] = {}
        self.ended: list[Frame] = []
        self.executor: InProcess | None = None
        self.telling = False
        self.mine = True
        self.thread = threading.get_ident()

    async def serve(self, low: list[int]) -> None:
        """Until the line is closed. The low descriptors were kept from the loop, which has all of its own by now."""
        for descriptor in low:
            os.close(descriptor)
        self.loop.add_reader(self.line, self._read)
        await self.closed.wait()

    def disown(self) -> None:
        """In a copy that a handler has forked: it is not the executor, and ends where it would act as one.

        Its event loop shares the kernel's end with ours, so it must neither run nor be closed. Signals mean
        to the copy what they mean to anybody.
        """
        self.mine = False
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        _let_signals()
        if threading.current_thread().ident == self.thread:
            self.loop.call_soon(os._exit, 0)

    # --- orders ---

    def _read(self) -> None:
        data = frames.receive(self.line)
        if data is None:
            self.loop.remove_reader(self.line)
            self.closed.set()
            return
        self.coming += data
        started = self._obey(list(frames.unpack(self.coming, frames.orders)))
        began = [serial for serial in started if serial in self.runs]
        if began or not self.ended:
            self.ended.append(Began(began))  # whoever is silent is taken for blocked
        self._flush()

    def _obey(self, orders: list[Serve | Start | Halt]) -> list[int]:
        """Carry out orders; answers the serials that were to start."""
        halted = {order.serial: Stop(order.why) for order in orders if isinstance(order, Halt)}
        started = []
        for order in orders:
            if isinstance(order, Start):
                started.append(order.serial)
                self._start(order, halted.get(order.serial))
            elif isinstance(order, Halt):
                run = self.runs.get(order.serial)
                if run is not None and self.executor is not None:
                    self.executor.stop(run, Stop(order.why))
            else:
                self._settle(order.session_id, order.slots)
        return started

    def _settle(self, session_id: UUID, slots: int) -> None:
        self.executor = InProcess(slots=slots, session_id=session_id, on_end=self._on_end, from_threads=True)

    def _start(self, frame: Start, halted: Stop | None) -> None:
        self._end_copy()
        handler = handlers.find(frame.type)
        if halted is not None or handler is None or self.executor is None:
            self.ended.append(Done(frame.serial, "released"))  # nothing of it has begun
            return
        BOARD.pack_into(self.board, 0, frame.serial)
        with self.writing:  # what was written above is seen before what is read below (Child.take_back)
            first, last = TAKEN.unpack_from(self.board, BOARD.size)
        if first <= frame.serial <= last:
            self.ended.append(Done(frame.serial, "released"))
            return
        run = InsideRun(frame, self, handler)
        self.runs[frame.serial] = run
        self.executor.start(run)

    # --- words ---

    def _on_end(self, run: Run, ended: Ended | None) -> None:
        """From the loop, or from a handler's thread: that one sends at once, the loop what ended in one turn."""
        self._end_copy()
        self.runs.pop(run.serial, None)
        words: list[Frame] = [_told(run.serial, run.told)] if run.told else []
        words.append(_done(run, ended))
        if threading.current_thread() is not threading.main_thread():
            self.write(words)
            return
        if not self.ended:
            self.loop.call_soon(self._flush)
        self.ended += words

    def _flush(self) -> None:
        if self.ended:
            ended, self.ended = self.ended, []
            self.write(ended)

    def wants_to_tell(self) -> None:
        """From any thread: pass progress on soon, however often it is said."""
        if self.mine and not self.telling:
            self.telling = True
            self.loop.call_soon_threadsafe(self.loop.call_later, TOLD_EVERY, self._tell)

    def _tell(self) -> None:
        self.telling = False
        told = []
        for run in list(self.runs.values()):
            said, run.told = run.told, None
            if said:
                told.append(_told(run.serial, said))
        if told:
            self.write(told)

    def write(self, words: Sequence[Frame]) -> None:
        """Send now what the socket takes, the rest when it takes more. From any thread."""
        if not self.mine:
            return  # multiprocessing's children may print and log, only not with the attempt
        data = frames.pack(words)
        with self.writing:
            if not self.going:
                data = data[self._sent(data) :]
            if data:
                if not self.going:
                    self.loop.call_soon_threadsafe(self.loop.add_writer, self.line, self._write_rest)
                self.going += data

    def _end_copy(self) -> None:
        if not self.mine:
            os._exit(0)

    def _write_rest(self) -> None:
        with self.writing:
            del self.going[: self._sent(self.going)]
            if not self.going:
                self.loop.remove_writer(self.line)

    def _sent(self, data: bytes | bytearray) -> int:
        try:
            return self.line.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # the supervisor is gone: nobody listens


def _told(serial: int, told: Progress) -> Told:
    return Told(serial, told.done, told.total, told.stage, told.note)


def _done(run: Run, ended: Ended | None) -> Done:
    if ended is None:
        return Done(run.serial, None)
    return Done(
        run.serial,
        ended.outcome,
        ended.result,
        ended.delay_ms,
        ended.error_class,
        ended.error_message,
        ended.traceback,
        list(ended.follow) or None,
    )
