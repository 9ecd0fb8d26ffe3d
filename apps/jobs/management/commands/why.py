"""manage.py why: why a job waits."""

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder

from apps.errors import NotFound, printable
from apps.jobs.selectors import find
from apps.jobs.selectors.why import why_waiting
from apps.jobs.serializers.answers import WhyAnswer


class Command(BaseCommand):
    help = "Say why a job waits, gate by gate in the order in which they must open."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=UUID, help="its id")
        parser.add_argument("--json", action="store_true", help="print one JSON object, or null where it does not wait")

    def handle(self, *, job: UUID, **options: Any) -> str:
        try:
            found = find(job)
        except NotFound:
            raise CommandError(f"There is no job {job}.") from None
        waiting = why_waiting(found)
        if options["json"]:
            return json.dumps(waiting and WhyAnswer(waiting).data, cls=DjangoJSONEncoder)
        name = printable(f"{found.type} {found.pk}")
        if waiting is None:
            return f"{name} does not wait: it is {found.get_state_display().lower()}."
        return "\n".join([name, *(printable(f"  {gate.code:<17} {gate.says}") for gate in waiting.gates)])
