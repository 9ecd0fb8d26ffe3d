"""What somebody at one address has just tried, whatever account they named."""

from datetime import timedelta
from uuid import UUID

from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.db.models import Sum
from django.utils.timezone import now

from apps.audit.models import Entry


def cool_off() -> timedelta:
    """How long what was tried is held against an address."""
    return get_cool_off() or timedelta(hours=1)


def failures_from(address: str | None) -> int:
    """Count the failed log-ins that are still held against an address."""
    recent = AccessAttempt.objects.filter(ip_address=address, attempt_time__gt=now() - cool_off())
    return recent.aggregate(count=Sum("failures_since_start"))["count"] or 0


def registrations_from(address: str | None) -> int:
    """Count the accounts that were just made from an address."""
    since = now() - cool_off()
    oldest = UUID(int=int(since.timestamp() * 1000) << 80)  # ids begin with their time: only the newest are read
    return Entry.objects.filter(id__gt=oldest, action="user.register", address=address, at__gt=since).count()
