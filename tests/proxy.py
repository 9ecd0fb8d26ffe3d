"""A proxy between a worker and its database that can fall silent, in one way or both, or hang up.

`pause` stops the bytes and keeps the connections: neither side is told anything. (It still
acknowledges for the dead, so what TCP itself notices must be tested with dropped packets.)
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

UP, DOWN = "up", "down"  # towards the server, towards the client


class Proxy:
    """Runs its own event loop in a thread; its methods may be called from the test's."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self.writers: set[asyncio.StreamWriter] = set()
        self.silent: set[str] = set()
        self.cut = False
        self.opened = 0  # connections so far
        self.flows: dict[str, asyncio.Event] = {}

    def pause(self, *ways: str) -> None:
        """Let nothing pass in these ways; both, when none is named."""
        self._do(self._hush(set(ways) or {UP, DOWN}))

    def resume(self) -> None:
        """Let what was held back pass, and everything after it."""
        self._do(self._hush(set()))

    def hang_up(self) -> None:
        """Reset every connection there is; what was held back is gone. New ones are welcome."""
        self._do(self._reset())

    def refuse(self) -> None:
        """Reset every connection, now and until `welcome`."""
        self.cut = True
        self.hang_up()

    def welcome(self) -> None:
        self.cut = False

    async def _hush(self, ways: set[str]) -> None:
        self.silent = ways
        for way, flows in self.flows.items():
            flows.clear() if way in ways else flows.set()

    async def _reset(self) -> None:
        for writer in list(self.writers):
            same: socket.socket = writer.get_extra_info("socket")
            with suppress(OSError):
                same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        if self.cut:
            writer.transport.abort()
            return
        try:
            answers, asks = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, asks}
        self.writers |= both
        await asyncio.gather(self._pump(reader, asks, UP), self._pump(answers, writer, DOWN))
        self.writers -= both

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                await self.flows[way].wait()
                if writer.is_closing():
                    return
                writer.write(chunk)
                await writer.drain()
        await self.flows[way].wait()
        writer.close()

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self.loop).result(5)

    async def _start(self) -> None:
        self.flows = {UP: asyncio.Event(), DOWN: asyncio.Event()}
        for flows in self.flows.values():
            flows.set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]


@contextmanager
def proxy(host: str, port: int) -> Iterator[Proxy]:
    """A proxy in front of a server, for as long as the test needs it."""
    made = Proxy(host, port)
    thread = threading.Thread(target=made.loop.run_forever, daemon=True)
    thread.start()
    try:
        made._do(made._start())
        yield made
    finally:
        made.resume()
        made.hang_up()
        made.loop.call_soon_threadsafe(made.loop.stop)
        thread.join(5)
