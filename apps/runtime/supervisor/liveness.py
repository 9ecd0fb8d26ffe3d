"""Says whether this worker gets on with its work: in a file, over HTTP, or both.

Live is a worker whose claim loop turns and whose heartbeats are answered, not merely a process that
exists. A database that is away makes no worker dead, for a new one would not fare better: then it
is live but not ready. GET /livez and /readyz answer 200 or 503 with the facts as JSON; the file is
written each second while the worker is live, so its age is what a probe looks at.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

from apps.errors import BadInput
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire

EVERY = 1.0  # seconds between two writings of the file
PATIENCE = 5.0  # seconds a client has for its request
HEAD_BYTES = 8192

log = structlog.get_logger("fencepost.worker")

type Facts = dict[str, object]


class Liveness:
    def __init__(self, state: State, wires: Sequence[Wire]) -> None:
        self.state = state
        self.wires = wires

    def facts(self) -> Facts:
        """How it stands now. Ages in seconds, since the last time that went well."""
        state, now = self.state, time.monotonic()
        claim_age, beat_age = now - state.claimed_at, now - state.beat_at
        reached = all(wire.reached for wire in self.wires)
        reached_for = now - max(wire.reached_at for wire in self.wires)
        patience = state.options.health_seconds + state.options.poll_interval
        stuck = min(max(claim_age, beat_age), reached_for) > patience
        live = state.stopping or not reached or not stuck
        return {
            "live": live,
            "ready": live and reached and state.session_id is not None and not (state.stopping or state.drained),
            "claim_age": round(claim_age, 1),
            "heartbeat_age": round(beat_age, 1),
            "database": reached,
            "session_id": str(state.session_id) if state.session_id else None,
            "running": len(state.held),
            "slots": state.options.slots,
            "draining": state.stopping or state.drained,
        }


@asynccontextmanager
async def probed(state: State, wires: Sequence[Wire]) -> AsyncIterator[None]:
    """Answer probes as the options say, for as long as the worker is inside."""
    liveness, options = Liveness(state, wires), state.options
    server = await _serve(liveness, options.health_port) if options.health_port else None
    keeper = asyncio.create_task(_keep(liveness, Path(options.health_file))) if options.health_file else None
    try:
        yield
    finally:
        if server is not None:
            server.close()
        if keeper is not None:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper


async def _keep(liveness: Liveness, path: Path) -> None:
    """Write the file whole, each second, while the worker is live."""
    complained = False
    try:
        while True:
            facts = liveness.facts()
            if facts["live"]:
                try:
                    _write(path, json.dumps(facts))
                except OSError as error:
                    if not complained:
                        log.error("health file not written", path=str(path), error=str(error))
                    complained = True
            await asyncio.sleep(EVERY)
    finally:
        path.unlink(missing_ok=True)  # noqa: ASYNC240 — a local file, at the end


def _write(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text + "\n")
    new.replace(path)


async def _serve(liveness: Liveness, port: int) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(head, liveness))
                await writer.drain()
        writer.close()

    try:
        return await asyncio.start_server(answer, port=port, limit=HEAD_BYTES)
    except (OSError, OverflowError) as error:
        raise BadInput.at("--health-port", f"Cannot listen on port {port}: {error}") from None


def _response(head: bytes, liveness: Liveness) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
    asked = {"/livez": "live", "/readyz": "ready"}.get(path)
    facts: Facts = liveness.facts() if asked else {"code": "not_found", "paths": ["/livez", "/readyz"]}
    if method not in (b"GET", b"HEAD"):
        status = "405 Method Not Allowed"
    elif asked is None:
        status = "404 Not Found"
    else:
        status = "200 OK" if facts[asked] else "503 Service Unavailable"
    body = (json.dumps(facts) + "\n").encode()
    lines = (
        f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}",
        "Cache-Control: no-store", "Connection: close",
    )  # fmt: skip
    return "\r\n".join((*lines, "", "")).encode() + (body if method != b"HEAD" else b"")
