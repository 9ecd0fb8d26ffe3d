"""What a handler holds in its hand: apps.handlers.Context, for a run inside this process."""

import json
import re
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO
from uuid import UUID

from django.conf import settings

from apps.jobs.engine.fenced import fenced
from apps.jobs.engine.heartbeat import Told
from apps.runtime.executor.follow import follow
from apps.runtime.executor.outcome import cut
from apps.runtime.executor.run import Run
from apps.runtime.executor.workspace import workspace

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._ -]{0,127}")
STAGE_MAX, NOTE_MAX, LEVEL_MAX = 128, 1000, 16
MOST = 2**63 - 1


class RunContext:
    """See apps.handlers.Context. Safe to use from the handler's thread."""

    __slots__ = ("_payload", "_run", "_session_id", "_workspace")

    def __init__(self, run: Run, payload: Any, session_id: UUID) -> None:
        self._run = run
        self._payload = payload
        self._session_id = session_id
        self._workspace: Path | None = None

    @property
    def payload(self) -> Any:
        return self._payload

    @property
    def job_id(self) -> UUID:
        return self._run.claim.job_id

    @property
    def type(self) -> str:
        return self._run.claim.type

    @property
    def queue(self) -> str:
        return self._run.queue

    @property
    def attempt(self) -> int:
        return self._run.claim.attempt

    @property
    def max_attempts(self) -> int:
        return self._run.claim.max_attempts

    @property
    def fence(self) -> int:
        return self._run.claim.fence

    @property
    def generation(self) -> int:
        return self._run.claim.generation

    @property
    def deadline_at(self) -> datetime:
        return self._run.claim.deadline_at

    @property
    def request_id(self) -> str | None:
        return self._run.claim.request_id

    @property
    def idempotency_key(self) -> str:
        return f"{self.job_id}-{self.generation}"

    @property
    def approved(self) -> bool:
        return self._run.claim.approved is not None

    @property
    def approval_note(self) -> str:
        return str(self._approval().get("note") or "")

    @property
    def result(self) -> Any:
        return self._approval().get("result")

    def _approval(self) -> dict[str, Any]:
        approval: dict[str, Any] = json.loads(self._run.claim.approved or "{}")
        return approval

    @property
    def cancelled(self) -> bool:
        return self._run.stop is not None

    def progress(self, done: int, total: int | None = None, stage: str = "", note: str = "") -> None:
        self._run.tell(
            Told(
                self.job_id,
                min(max(int(done), 0), MOST),
                None if total is None else min(max(int(total), 0), MOST),
                cut(stage, STAGE_MAX),
                cut(note, NOTE_MAX),
            )
        )

    def log(self, message: str, level: str = "info") -> None:
        self._run.say(str(message), cut(str(level), LEVEL_MAX))

    def hear(self, text: str, level: str) -> None:
        """What the handler printed."""
        self._run.hear(text, level)

    def enqueue(self, type: str, payload: Any = None, **fields: Any) -> UUID:
        return follow(self._run, type, payload, fields)

    def save(self, name: str, file: bytes | BinaryIO) -> str:
        if not _FILE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no plain file name.")
        folder = Path(settings.RESULTS_DIR) / str(self.job_id)
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{name}.{self.fence}"  # renamed when whole: a reader never sees half a file
        with part.open("wb") as target:
            if isinstance(file, bytes):
                target.write(file)
            else:
                copyfileobj(file, target)
        part.replace(folder / name)
        return f"/api/v1/jobs/{self.job_id}/files/{name}"

    @property
    def workspace(self) -> Path:
        if self._workspace is None:
            self._workspace = workspace(self._run.claim)
        return self._workspace

    def fenced(self) -> AbstractContextManager[None]:
        return fenced(job_id=self.job_id, fence=self.fence, session_id=self._session_id, generation=self.generation)
