"""When a schedule fires: the one place that knows the rules of cron. docs/schedules.md tells them.

    cron = parse("30 2 * * 1-5")
    first = after(cron, zone("Europe/Berlin"), moment)

`fields` reads an expression, `walk` finds the moments, `plan` says which of those that have come make a job. Nothing here asks a clock or the database.
"""

from apps.jobs.cron.fields import EXPRESSION_MAX, Cron, parse, tidy
from apps.jobs.cron.plan import LISTED, Planned, jitter, plan
from apps.jobs.cron.walk import after, fires, latest, zone

__all__ = [
    "EXPRESSION_MAX",
    "LISTED",
    "Cron",
    "Planned",
    "after",
    "fires",
    "jitter",
    "latest",
    "parse",
    "plan",
    "tidy",
    "zone",
]
