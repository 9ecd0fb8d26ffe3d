"""When a schedule fires: the one place that knows the rules of cron. docs/schedules.md tells them.

    cron = parse("30 2 * * 1-5")
    first = after(cron, zone("Europe/Berlin"), moment)

`fields` reads an expression, `walk` finds the moments. Nothing here asks a clock or the database.
"""

from apps.jobs.cron.fields import EXPRESSION_MAX, Cron, parse, tidy
from apps.jobs.cron.walk import after, fires, latest, zone

__all__ = ["EXPRESSION_MAX", "Cron", "after", "fires", "latest", "parse", "tidy", "zone"]
