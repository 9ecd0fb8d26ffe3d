"""manage.py runscheduler: the loops that keep the promises, alone."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.runtime.services.schedule import schedule


class Command(BaseCommand):
    help = "Run the scheduler's loops without a worker. Any number may run at once."
    only: tuple[str, ...] = ()  # what runreaper and runcron narrow it to

    def add_arguments(self, parser: ArgumentParser) -> None:
        if not self.only:
            parser.add_argument("--only", default="", help="names of loops, separated by commas")

    def handle(self, **flags: Any) -> None:
        only = self.only or tuple(name.strip() for name in flags["only"].split(",") if name.strip())
        try:
            schedule(only=only)
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from None
