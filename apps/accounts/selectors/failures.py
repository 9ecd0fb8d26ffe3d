"""How often somebody at one address has just failed to log in, whatever account they tried."""

from datetime import timedelta

from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.db.models import Sum
from django.utils.timezone import now


def failures_from(address: str | None) -> int:
    """Count the failures of one address that are still held against it."""
    since = now() - (get_cool_off() or timedelta(hours=1))
    recent = AccessAttempt.objects.filter(ip_address=address, attempt_time__gt=since)
    return recent.aggregate(count=Sum("failures_since_start"))["count"] or 0
