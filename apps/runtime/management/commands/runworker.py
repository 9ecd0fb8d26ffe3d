"""manage.py runworker: claim jobs and run them until told to stop."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.errors import Refusal
from apps.runtime.services import announce
from apps.runtime.services.work import work
from apps.runtime.supervisor import ExitCode, Options, pool

DAY = 86_400  # seconds


class Command(BaseCommand):
    help = "Claim jobs and run them. Each flag has a variable of the same name: --poll-interval is POLL_INTERVAL."
    requires_system_checks = ("database",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--queue", action="append", default=[], help="organization/project/queue; repeat, or separate by commas")
        add("--types", action="append", default=[], help="job types to take; every one with a handler by default")
        add("--name", default=settings.WORKER_NAME, help="the worker's stable name")
        add("--concurrency", "-c", type=int, default=settings.CONCURRENCY, help="jobs at once")
        add("--processes", type=int, default=settings.PROCESSES, help="executors; 0 runs handlers in this process")
        add(
            "--jobs-per-process",
            type=int,
            default=settings.JOBS_PER_PROCESS,
            help="then an executor is replaced; 0: never",
        )
        add("--memory-per-process", type=int, default=settings.MEMORY_PER_PROCESS, help="MiB, likewise")
        add("--pool", action="append", default=[], help="name:slots=queue,queue or name:slots=type:TYPE; repeat")
        add("--lease", type=float, default=settings.LEASE_SECONDS, help="seconds of silence that cost the jobs")
        add("--heartbeat", type=float, default=None, help="seconds between heartbeats; a third of the lease")
        add("--poll-interval", type=float, default=settings.POLL_INTERVAL, help="seconds between looks")
        add("--grace", type=float, default=settings.GRACE_SECONDS, help="seconds a stopping worker's jobs have")
        add(
            "--cancel-grace", type=float, default=settings.CANCEL_GRACE_SECONDS, help="what a cancelled job has to stop"
        )
        add("--code-version", default=settings.CODE_VERSION, help="shown with the worker; pyproject.toml's by default")
        add("--no-scheduler", action="store_true", default=settings.NO_SCHEDULER, help="run no scheduler loops here")
        add("--poll-only", action="store_true", default=settings.POLL_ONLY, help="do not LISTEN")
        add("--health-file", default=settings.HEALTH_FILE, help="a file written each second while the worker is live")
        add("--health-port", type=int, default=settings.HEALTH_PORT, help="answer GET /livez and /readyz on this port")
        add("--health-seconds", type=float, default=settings.HEALTH_SECONDS, help="without progress, until not live")
        add("--burst", action="store_true", default=settings.BURST, help="end when there is nothing left to do")

    def handle(self, **flags: Any) -> None:
        try:
            code = work(_options(flags))
        except Refusal as refusal:
            raise CommandError(str(refusal), returncode=ExitCode.USAGE) from None
        if code is not ExitCode.FINE:
            raise CommandError(f"The worker ended: {code.name.lower()}.", returncode=code)


def _options(flags: dict[str, Any]) -> Options:
    lease = flags["lease"]
    if flags["queue"] and not _split(flags["queue"]):
        raise CommandError("--queue names no queue; leave it out to serve every one.", returncode=ExitCode.USAGE)
    options = Options(
        queues=_split(flags["queue"]) or tuple(settings.QUEUES),
        types=_split(flags["types"]) or tuple(settings.TYPES),
        concurrency=flags["concurrency"],
        processes=flags["processes"],
        jobs_per_process=flags["jobs_per_process"],
        memory_per_process=flags["memory_per_process"],
        pools=pool.parse(flags["pool"] or settings.POOLS.split(";")),
        lease=lease,
        heartbeat=flags["heartbeat"] or min(settings.HEARTBEAT_SECONDS, lease / 3),
        poll_interval=flags["poll_interval"],
        grace=flags["grace"],
        cancel_grace=flags["cancel_grace"],
        scheduler=not flags["no_scheduler"],
        poll_only=flags["poll_only"],
        burst=flags["burst"],
        version=announce.version(flags["code_version"]),
        capabilities=announce.capabilities(),
        health_file=flags["health_file"],
        health_port=flags["health_port"],
        health_seconds=flags["health_seconds"],
        **({"name": flags["name"]} if flags["name"] else {}),
    )
    _refuse_nonsense(options)
    return options


def _split(values: list[str]) -> tuple[str, ...]:
    return tuple(one.strip() for value in values for one in value.split(",") if one.strip())


def _refuse_nonsense(options: Options) -> None:
    faults = {
        "--concurrency must be between 1 and 10000": not 1 <= options.concurrency <= 10_000,
        "--processes must be between 0 and 1000": not 0 <= options.processes <= 1000,
        "--jobs-per-process must not be negative": options.jobs_per_process < 0,
        "--memory-per-process must be 0 or at least 100": options.memory_per_process != 0
        and options.memory_per_process < 100,
        "--lease must be between 0.5 and 86400": not 0.5 <= options.lease <= DAY,
        "--heartbeat must be positive and at most half the lease": not 0 < options.heartbeat <= options.lease / 2,
        "--poll-interval must be positive and at most 86400": not 0 < options.poll_interval <= DAY,
        "--grace must be between 0 and 86400": not 0 <= options.grace <= DAY,
        "--cancel-grace must be between 0 and 86400": not 0 <= options.cancel_grace <= DAY,
        "--health-port must be between 0 and 65535": not 0 <= options.health_port <= 65535,
        "--health-seconds must be positive and at most 86400": not 0 < options.health_seconds <= DAY,
        "--name must have at most 128 characters": len(options.name) > 128,
    }
    for fault, holds in faults.items():
        if holds:
            raise CommandError(f"{fault}.", returncode=ExitCode.USAGE)
