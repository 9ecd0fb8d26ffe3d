"""Cut the days of the event log ahead of time."""

from apps.audit.engine.days import AHEAD, Daily, cut

EVENT = Daily(name="audit_event", column="at", unique={"seq": "(project_id, last_seq)"})


def partition(*, ahead: int = AHEAD) -> list[str]:
    """Make the missing partitions of the event log."""
    return cut(EVENT, ahead=ahead)
