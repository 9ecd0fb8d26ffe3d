"""manage.py demo: a folder of pictures goes through a real pipeline."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Make a thumbnail of each picture and a sheet of them all, watch it, and keep serving until Ctrl-C."
    requires_system_checks = ("fencepost",)  # the site it starts checks the rest

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dir", type=Path, help="a folder of pictures; without it, samples are made")
        parser.add_argument("--once", action="store_true", help="end when the pipeline is done; serve no pages")
        parser.add_argument("--json", action="store_true", help="with --once: print one JSON object, and only that")

    def handle(self, **options: Any) -> str | None:
        try:
            from rich.console import Console

            from apps.demo.services import play, show
        except ImportError as error:
            raise CommandError(f"The demo needs the extra 'demo' of pyproject.toml: {error}.") from None
        try:
            if not options["once"]:
                play.serve(options["dir"], Console())
            counted = play.once(options["dir"], Console(stderr=True, quiet=options["json"]))
        except KeyboardInterrupt:
            return "Ended."
        except play.refusals() as refusal:
            raise CommandError(str(refusal)) from None
        return json.dumps(counted) if options["json"] else show.outcome(counted)
