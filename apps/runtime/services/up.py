"""Everything in one terminal: pages, API and sockets from one ASGI process, and a worker beside it."""

import subprocess
import sys
from collections.abc import Sequence

import uvicorn
from django.conf import settings

PATIENCE = 35.0  # seconds: a worker's grace and its last word


def up(*, host: str, port: int, worker_flags: Sequence[str] = ()) -> None:
    """Serve until Ctrl-C or TERM; the worker is started with these flags and told to end with us."""
    worker = subprocess.Popen(  # noqa: S603 - our own interpreter and files
        [sys.executable, "manage.py", "runworker", *worker_flags], cwd=settings.BASE_DIR, start_new_session=True
    )
    try:
        uvicorn.run("config.asgi:application", host=host, port=port, log_config=None, lifespan="off")
    finally:
        worker.terminate()
        try:
            worker.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
