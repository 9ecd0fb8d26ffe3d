"""How many requests one token, or one address at the doors, may send in a minute: counted in this process alone.

See docs/decisions/0033: what must not be guessed is counted in the database, by axes.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from apps.errors import TooManyRequests

MINUTE = 60.0
REMEMBERED = 100_000  # callers; whoever has been silent longest is forgotten first


@dataclass(frozen=True, slots=True)
class Rate:
    """What is left of a caller's minute."""

    limit: int
    remaining: int
    reset: int  # seconds until it begins anew

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(self.remaining, 0)),
            "RateLimit-Reset": str(self.reset),
        }


class Exhausted(TooManyRequests):
    """Too many requests in a minute; wait until the next one begins."""

    def __init__(self, rate: Rate) -> None:
        super().__init__(retry_after=rate.reset)
        self.headers = rate.headers


class Minutes:
    """The minute of every caller: when it began, and how many requests it has seen."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: OrderedDict[object, tuple[float, int]] = OrderedDict()

    def count(self, who: object, limit: int) -> Rate:
        """Count one request; raises Exhausted beyond the limit."""
        now = time.monotonic()
        with self._lock:
            began, seen = self._seen.pop(who, (now, 0))
            if now - began >= MINUTE:
                began, seen = now, 0
            self._seen[who] = began, seen + 1
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        rate = Rate(limit, limit - seen - 1, max(1, round(began + MINUTE - now)))
        if rate.remaining < 0:
            raise Exhausted(rate)
        return rate

    def forget(self) -> None:
        """Begin anew for all."""
        with self._lock:
            self._seen.clear()


minutes = Minutes()
