"""manage.py bench: measure, in a database of its own."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.bench.services.claim_scale import claim_scale
from apps.bench.services.cost import cost
from apps.bench.services.delayed import delayed
from apps.bench.services.deletion import deletion
from apps.bench.services.doomed import KINDS
from apps.bench.services.drain import drain
from apps.bench.services.enqueue import enqueue
from apps.bench.services.fairness import fairness
from apps.bench.services.figures import as_text
from apps.bench.services.flow import flow
from apps.bench.services.gate import gate
from apps.bench.services.http import http
from apps.bench.services.keys import keys
from apps.bench.services.latency import latency
from apps.bench.services.limited import limited
from apps.bench.services.listeners import listeners
from apps.bench.services.recovery import recovery
from apps.bench.services.snapshot import snapshot
from apps.bench.services.soak import soak
from apps.bench.services.workers import Stuck

BENCHES: dict[str, Callable[..., dict[str, Any]]] = {
    "enqueue": enqueue,
    "drain": drain,
    "cost": cost,
    "http": http,
    "latency": latency,
    "delayed": delayed,
    "deletion": deletion,
    "claim-scale": claim_scale,
    "fairness": fairness,
    "flow": flow,
    "keys": keys,
    "gate": gate,
    "limited": limited,
    "listeners": listeners,
    "snapshot": snapshot,
    "recovery": recovery,
    "soak": soak,
}
ASKED = ("jobs", "concurrency", "processes", "workers", "rounds", "seconds", "of")


class Command(BaseCommand):
    help = "Measure on this machine. The database is made for it and dropped; docs/benchmarks.md says how."
    requires_system_checks = ("fencepost",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("what", choices=BENCHES)
        add("--jobs", type=_positive, help="how many; each benchmark has its default")
        add("--concurrency", type=_positive, help="jobs a worker runs at once")
        add("--processes", type=int, default=0, help="executors of a worker; 0 runs jobs inside it")
        add("--workers", type=_positive, default=1, help="workers at once (drain)")
        add(
            "--seconds",
            type=_positive,
            help="of a snapshot, of idling, of enqueueing (snapshot, limited, listeners, http, deletion)",
        )
        add("--of", choices=KINDS, default="queue", help="what is deleted (deletion)")
        add("--rounds", type=_positive, default=3, help="times to measure; the median counts")
        add("--json", action="store_true", help="print one JSON object")

    def handle(self, *, what: str, **options: Any) -> str:
        asked = {name: options[name] for name in ASKED}
        try:
            figures = BENCHES[what](**asked)
        except KeyboardInterrupt:
            raise CommandError("Ended; the database is dropped.", returncode=130) from None
        except Stuck as stuck:
            raise CommandError(str(stuck)) from None
        return json.dumps(figures) if options["json"] else as_text(figures)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value
