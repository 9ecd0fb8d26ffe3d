"""What a handler prints and logs, kept with its attempt: found by the context it runs in, not by the thread."""

import logging
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from apps.handlers import current
from apps.runtime.executor.context import RunContext

LEVELS = {"stdout": "info", "stderr": "warning"}


class Captured:
    """Stands before sys.stdout or sys.stderr: passes everything on, and whole lines of a handler to its attempt."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._level = LEVELS[name]

    def write(self, text: str) -> int:
        context = current.get()
        if isinstance(context, RunContext):
            context.hear(str(text), self._level)
        return self._stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Handler(logging.Handler):
    """Keeps the log records of a handler, and of every library it calls, with its attempt."""

    def emit(self, record: logging.LogRecord) -> None:
        context = current.get()
        if context is None:
            return
        try:
            context.log(self.format(record), record.levelname.lower())
        except Exception:  # noqa: BLE001 — a record that cannot be formatted must not fail the job
            self.handleError(record)


def install() -> None:
    """Capture in this process, once."""
    if isinstance(sys.stdout, Captured):
        return
    # A process that was started with closed streams has none.
    sys.stdout = Captured(sys.stdout or Path(os.devnull).open("w"), "stdout")  # noqa: SIM115
    sys.stderr = Captured(sys.stderr or Path(os.devnull).open("w"), "stderr")  # noqa: SIM115
    handler = Handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger().addHandler(handler)
