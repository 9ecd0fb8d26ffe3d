"""What a failure summary's prose may be, and how long an attempt."""

from django.db.models import TextChoices

TIMEOUT_MAX_MS = 30 * 86_400_000  # as long as an attempt may last at all


class SummaryState(TextChoices):
    """What a failure summary's prose is worth. The groups beside it are right in each of them."""

    CURRENT = "current"  # it tells of these groups; or there is nothing to tell
    STALE = "stale"  # it tells of earlier groups; it is written anew within the hour
    PENDING = "pending"  # it is still to be written; or nobody has looked at the failures yet
    UNAVAILABLE = "unavailable"  # no model is set up, or the one that is did not answer when it was last asked
