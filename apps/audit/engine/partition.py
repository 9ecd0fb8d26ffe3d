"""Cut the days of the event log ahead of time."""

from apps.audit.engine.days import AHEAD, BACK, Daily, cut, days_left

EVENT = Daily(name="audit_event", column="at", unique={"seq": "(project_id, last_seq)"})


def partition(*, ahead: int = AHEAD, back: int = BACK) -> list[str]:
    """Make the missing partitions of the event log."""
    return cut(EVENT, ahead=ahead, back=back)


def left() -> int:
    """How many days ahead are cut."""
    return days_left(EVENT)
