"""Everything in one terminal: pages, API and sockets from one ASGI process, and a worker beside it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import structlog
import uvicorn
from django.conf import settings

from apps.runtime.supervisor.options import default_name

# What a stranger may make the server keep: h11 ends a request whose head has no end, which httptools does not; and no
# client of a socket has much to say. docs/runbook.md says the same for production.
BOUNDS: dict[str, Any] = {"http": "h11", "ws_max_size": 65_536}
PATIENCE = 35.0  # seconds: a worker's grace and its last word

log = structlog.get_logger("fencepost.up")


def up(*, host: str, port: int, worker_flags: Sequence[str] = ()) -> int:
    """Serve until Ctrl-C or TERM, or until the worker ends by itself; answers its exit status then, else 0.

    The worker is started with these flags and told to end with us. Its name is not the one that a worker
    started by hand in this folder would take from it.
    """
    name = settings.WORKER_NAME or f"{default_name()}:up"
    worker = subprocess.Popen(  # noqa: S603 - our own interpreter and files
        [sys.executable, "manage.py", "runworker", "--name", name, *worker_flags],
        cwd=settings.BASE_DIR,
        start_new_session=True,
    )
    ending = threading.Event()
    threading.Thread(target=_watch, args=(worker, ending), daemon=True).start()
    # Uvicorn sends the signal that ended it once more: by default TERM would end us here, and leave the worker behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.run("config.asgi:application", host=host, port=port, log_config=None, lifespan="off", **BOUNDS)
    finally:
        by_itself = worker.poll()
        ending.set()
        worker.terminate()
        try:
            worker.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
    return by_itself or 0


def _watch(worker: subprocess.Popen[bytes], ending: threading.Event) -> None:
    """Without a worker nothing that is submitted would run: say so, and end."""
    status = worker.wait()
    if not ending.is_set():
        log.error("the worker ended; so does this", status=status)
        os.kill(os.getpid(), signal.SIGTERM)
