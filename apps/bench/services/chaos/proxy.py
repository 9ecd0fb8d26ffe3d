"""A proxy before the database that cuts, holds back and slows. It runs in a thread, between two Unix sockets."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

CHUNK, LOOK_EVERY = 65_536, 0.01
UP, DOWN = "up", "down"  # to the server, and back


@dataclass
class Proxy:
    """`held` ways let nothing through, a `cut` one ends every connection and refuses new ones."""

    listen: Path
    target: Path
    held: frozenset[str] = frozenset()
    cut: bool = False
    latency: float = 0.0  # seconds, each chunk
    accepted: int = 0
    broken: int = 0  # connections cut
    delayed: int = 0  # chunks that were held back or slowed
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def calm(self) -> None:
        """Let everything through."""
        self.held, self.cut, self.latency = frozenset(), False, 0.0

    async def serve(self, ready: threading.Event) -> None:
        """Until `stop`."""
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        async with await asyncio.start_unix_server(self._pass, self.listen):
            watch = asyncio.create_task(self._watch())
            ready.set()
            await self._stop.wait()
            watch.cancel()
            self._abort()

    def stop(self) -> None:
        """From another thread."""
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _watch(self) -> None:
        while True:
            if self.cut:
                self.broken += self._abort() // 2
            await asyncio.sleep(LOOK_EVERY)

    def _abort(self) -> int:
        writers = list(self._writers)
        for writer in writers:
            writer.transport.abort()
        self._writers.difference_update(writers)
        return len(writers)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.cut:
            self.broken += 1
            writer.transport.abort()
            return
        try:
            back, there = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            return
        self.accepted += 1
        pair = {writer, there}
        self._writers |= pair
        await asyncio.gather(self._pump(reader, there, UP), self._pump(back, writer, DOWN))
        self._writers -= pair

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                await self._let(way)
                if self.cut:
                    break
                writer.write(chunk)
                await writer.drain()
        await self._let(way)
        writer.transport.abort() if self.cut else writer.close()

    async def _let(self, way: str) -> None:
        self.delayed += bool(self.latency or way in self.held)
        if self.latency:
            await asyncio.sleep(self.latency)
        while way in self.held and not self.cut:  # noqa: ASYNC110 - changed by another thread
            await asyncio.sleep(LOOK_EVERY)


@contextmanager
def proxy(listen: Path, target: Path) -> Iterator[Proxy]:
    """A proxy that serves as long as this block lasts."""
    made, ready = Proxy(listen, target), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(made.serve(ready)), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield made
    finally:
        made.stop()
        thread.join(5)
