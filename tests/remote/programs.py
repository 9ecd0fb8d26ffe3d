"""Processes of the client, as tests start them."""

import os
import subprocess
import sys
import time
from pathlib import Path

from apps.accounts.models import ApiToken
from tests.processes import until
from tests.remote.serving import Server

PROGRAM = Path(__file__).with_name("program.py")
LEASE = 3.0


class Program:
    """One process of the client."""

    def __init__(
        self, server: Server, token: ApiToken, folder: Path, uid: str, slots: int = 2, grace: float = 10.0
    ) -> None:
        self.log = folder / f"{uid}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as output:
            self.popen = subprocess.Popen(
                [sys.executable, str(PROGRAM), server.url.removesuffix("/api/v1"), uid, str(slots), str(LEASE)],
                env={**os.environ, "FENCEPOST_TOKEN": token.text, "GRACE": str(grace)},  # type: ignore[attr-defined]
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self.log.read_text()

    def says(self, text: str, within: float = 20) -> None:
        until(lambda: text in self.output or self.popen.poll() is not None, within=within, what=lambda: self.output)
        assert text in self.output, self.output

    def ends(self, within: float = 20) -> int:
        return self.popen.wait(within)

    def send(self, number: int) -> None:
        self.popen.send_signal(number)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()
