"""Kill, cut and freeze a whole site under load, then ask whether anything was lost."""

import json
import random
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.bench.services.chaos.faults import FAULTS, Fault
from apps.bench.services.chaos.run import chaos
from apps.bench.services.workers import Stuck

SEEDS = 10**6
PROCESSES = (0, 2, 2)


class Command(BaseCommand):
    help = "Run a site of its own under faults. It makes its own PostgreSQL; docs/testing.md says what is judged."
    requires_system_checks = ("fencepost",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--seed", type=int, help="which faults when, and what is submitted; a random one by default")
        add("--seconds", type=float, default=60.0, help="of faults; then everything must come to its end")
        add("--faults", type=_named, default=list(FAULTS.values()), help="names, separated by commas")
        add("--processes", type=_numbers, default=PROCESSES, help="executors of each worker, separated by commas")
        add("--json", action="store_true", help="print one JSON object")
        add("--keep", action="store_true", help="leave the folder with logs, diary and history behind")
        add("--list-faults", action="store_true", help="name the faults and end")

    def handle(self, **options: Any) -> None:
        if options["list_faults"]:
            self.stdout.write("\n".join(f"{fault.name:<20} {fault.says}" for fault in FAULTS.values()))
            return
        seed = options["seed"] if options["seed"] is not None else random.SystemRandom().randrange(SEEDS)
        asked = {name: options[name] for name in ("seconds", "faults", "processes", "keep")}
        self.stderr.write(f"seed {seed}")
        try:
            told = chaos(seed=seed, **asked, say=self.stderr.write)
        except KeyboardInterrupt:
            raise CommandError(f"Ended; seed {seed}.", returncode=130) from None
        except Stuck as stuck:
            raise CommandError(f"{stuck} Seed {seed}.") from None
        self.stdout.write(json.dumps(told) if options["json"] else _as_text(told))
        if not told["ok"]:
            raise CommandError(f"Seed {seed}: {'; '.join(told['wrong'])}.")


def _named(text: str) -> list[Fault]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise ArgumentTypeError(f"there is no fault {', '.join(unknown)}; --list-faults names them")
    return [FAULTS[name] for name in names]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(","))


def _as_text(told: dict[str, Any]) -> str:
    """For people: a line each, offenders below."""
    offenders = [f"WRONG {name}: {'  '.join(found)}" for name, found in told["truth"].items() if found]
    offenders += [f"BROKEN {one['name']}: {'  '.join(one['ids'])}" for one in told["invariants"]]
    rest = [f"{name:<21} {value}" for name, value in told.items() if name not in ("truth", "invariants")]
    return "\n".join([*rest, *offenders])
