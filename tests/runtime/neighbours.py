"""Others on the network: a server that says what it is told to, and names that lead where a test wants."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from apps.runtime.outbound import Request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers every request with the same bytes and remembers what came."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.seen, self.port = answer, list[bytes](), 0
        self.hold = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.seen.append(head)
        writer.write(self.answer)
        await writer.drain()
        while self.answer.startswith(b"HTTP/1.1 200 endless") and not writer.is_closing():
            writer.write(b"x" * 8192)
            await writer.drain()
        if self.answer.startswith(b"HTTP/1.1 200 slow"):
            await self.hold.wait()
        writer.close()

    @property
    def header_lines(self) -> list[bytes]:
        return self.seen[-1].split(b"\r\n")[1:]


@asynccontextmanager
async def serving(answer: bytes = OK, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Server]:
    server = Server(answer)
    listener = await asyncio.start_server(server.serve, host, port)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


class Names:
    """A resolver that gives one list of addresses after another."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), list[str]()

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0)


def get(url: str, **fields) -> Request:
    return Request(method="GET", url=url, **fields)
