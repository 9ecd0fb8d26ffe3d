"""Reading the event log: in pages, and as it grows."""

from apps.audit.tail.live import Follower, follow
from apps.audit.tail.read import Frame, Held, check_cursor, held, read_events

__all__ = ["Follower", "Frame", "Held", "check_cursor", "follow", "held", "read_events"]
