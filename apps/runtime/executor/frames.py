"""What a supervisor and its executors say to each other: batches of frames over a socket pair.

Each batch is a length (4 bytes, network order) and a MessagePack list. Decoding checks types, so an executor whose
handler has written into the socket is found out (Garbled), not believed.
"""

import socket
import struct
from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from apps.jobs.engine.enqueue import NewJob

CHUNK = 1 << 18  # bytes taken off a socket at a time
LENGTH = struct.Struct("!I")
LONGEST = 256 * 1024 * 1024  # bytes of one batch; what claims to be longer is no batch


class Garbled(Exception):
    """The bytes are no batch of frames."""


class Frame(msgspec.Struct, array_like=True, tag_field="frame", gc=False):
    pass


class Serve(Frame, tag=1):
    """The first word to an executor."""

    session_id: UUID
    slots: int


class Start(Frame, tag=2):
    """Run this attempt. Serials grow by one for each executor."""

    serial: int
    job_id: UUID
    queue_id: UUID
    queue: str
    type: str
    payload: str
    attempt: int
    max_attempts: int
    fence: int
    generation: int
    deadline_at: datetime
    workflow_id: UUID | None
    request_id: str | None
    approved: str | None


class Halt(Frame, tag=3):
    """Ask an attempt to stop; `why` is a value of run.Stop."""

    serial: int
    why: str


class Began(Frame, tag=4):
    """These have begun and have not ended yet: the executor listens."""

    serials: list[int]


class Said(Frame, tag=5):
    """A line of an attempt's log."""

    serial: int
    message: str
    level: str


class Told(Frame, tag=6):
    """Its progress."""

    serial: int
    done: int
    total: int | None
    stage: str
    note: str


class Done(Frame, tag=7):
    """How it ended. Without an outcome nothing is to be reported."""

    serial: int
    outcome: str | None
    result: str | None = None
    delay_ms: int | None = None
    error_class: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    follow: list[NewJob] | None = None


type Order = Serve | Start | Halt
type Word = Began | Said | Told | Done

_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
orders = msgspec.msgpack.Decoder(list[Serve | Start | Halt])
words = msgspec.msgpack.Decoder(list[Began | Said | Told | Done])


def pack(frames: Sequence[Frame]) -> bytes:
    """One batch, as bytes."""
    body = _encode(frames)
    return LENGTH.pack(len(body)) + body


def receive(line: socket.socket) -> bytes | None:
    """What has come, from a socket that does not block; None at its end, however it came."""
    try:
        return line.recv(CHUNK) or None
    except BlockingIOError:
        return b""
    except OSError:
        return None


def unpack[T](buffer: bytearray, decoder: msgspec.msgpack.Decoder[list[T]]) -> Iterator[T]:
    """Take every whole batch off the buffer. Raises Garbled for what is none."""
    at = 0
    try:
        while len(buffer) - at >= LENGTH.size:
            [length] = LENGTH.unpack_from(buffer, at)
            if length > LONGEST:
                raise Garbled(f"A batch of {length} bytes.")
            end = at + LENGTH.size + length
            if len(buffer) < end:
                return
            batch = decoder.decode(bytes(memoryview(buffer)[at + LENGTH.size : end]))
            at = end
            yield from batch
    except msgspec.MsgspecError as error:
        raise Garbled(str(error)) from error
    finally:
        del buffer[:at]
