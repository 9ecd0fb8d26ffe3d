"""Check what must always hold."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from apps.bench.services.invariants import SAYS, broken


class Command(BaseCommand):
    help = "Check what must always hold; exit status 1 and the offending ids where it does not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, json: bool, **options: Any) -> None:
        found = broken()
        self.stdout.write(_as_json(found) if json else _as_text(found))
        if found:
            sys.exit(1)


def _as_json(found: list[Any]) -> str:
    return json.dumps({"ok": not found, "checked": len(SAYS), "broken": [asdict(one) for one in found]})


def _as_text(found: list[Any]) -> str:
    if not found:
        return f"{len(SAYS)} invariants hold."
    return "\n".join(f"BROKEN {one.name}: {one.says}\n  {'  '.join(one.ids)}" for one in found)
