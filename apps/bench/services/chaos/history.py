"""What customers were told, written down outside the database before anything else happens."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

SUBMITTED, CANCELLED, REPLAYED = "submitted", "cancelled", "replayed"


class History:
    """JSON lines, each on the disk before `note` returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._turn = threading.Lock()

    def note(self, what: str, **facts: Any) -> None:
        line = json.dumps({"what": what, "at": time.time(), **facts}).encode() + b"\n"
        with self._turn:
            if self._file is None:  # a customer who was left behind
                return
            os.write(self._file, line)
            os.fsync(self._file)

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_bytes().splitlines()]

    def close(self) -> None:
        with self._turn:
            if self._file is not None:
                os.close(self._file)
            self._file = None
