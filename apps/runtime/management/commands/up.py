"""manage.py up: serve and work, for development."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.runtime.services.up import up


class Command(BaseCommand):
    help = "Serve pages, API and sockets, with a worker beside them. For development; docs/runbook.md says what for production."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--concurrency", default="10", help="jobs the worker runs at once")

    def handle(self, **flags: Any) -> None:
        status = up(host=flags["host"], port=flags["port"], worker_flags=["--concurrency", flags["concurrency"]])
        if status:
            raise CommandError(f"The worker ended with status {status}.", returncode=status)
