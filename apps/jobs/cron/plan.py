"""What becomes of ticks that have come: which make a job, and why the others do not."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID
from zoneinfo import ZoneInfo

from apps.jobs.cron.fields import Cron
from apps.jobs.cron.walk import latest
from apps.jobs.states import CatchUp

LISTED = 100  # ticks that are told of one by one, after a long absence


@dataclass(frozen=True, slots=True)
class Planned:
    """One tick: it makes a job, or it was missed and `why` says the reason."""

    at: datetime
    fires: bool
    why: str = ""


def plan(
    cron: Cron, where: ZoneInfo, *, since: datetime, now: datetime, catch_up: str, most: int, grace: timedelta
) -> list[Planned]:
    """Judge the ticks from `since`, which is one, to `now`.

    The newest fires if it is no older than `grace`. Older ones were missed; `catch_up` may have the newest of them fire
    all the same, or the `most` newest.
    """
    listed = max(LISTED, most)
    later = latest(cron, where, since=since, upto=now, most=listed)
    fired = {CatchUp.FIRE_ONCE: 1, CatchUp.FIRE_ALL: most}.get(CatchUp(catch_up), 0)
    newest = later[-1] if later else since
    if now - newest <= grace:
        fired = max(fired, 1)
    ticks = [since, *later]
    why = _why(catch_up, newest)
    planned = [Planned(at, place >= len(ticks) - fired) for place, at in enumerate(ticks)]
    planned = [one if one.fires else replace(one, why=why) for one in planned]
    if len(later) == listed and not planned[0].fires:  # there may be more in between than are listed
        planned[0] = replace(planned[0], why=f"{why} The ticks until {later[0]:%F %T} UTC are not listed.")
    return planned


def _why(catch_up: str, newest: datetime) -> str:
    if catch_up == CatchUp.FIRE_ONCE:
        return f"No scheduler was there in time; made up for by that of {newest:%F %T} UTC."
    if catch_up == CatchUp.FIRE_ALL:
        return "No scheduler was there in time, and this is more than catchup_max ago."
    return "No scheduler was there in time."


def jitter(schedule_id: UUID, at: datetime, most: int) -> timedelta:
    """How long after its tick a job is due: up to `most` seconds, the same whoever asks."""
    if not most:
        return timedelta()
    drawn = sha256(schedule_id.bytes + f"{at.timestamp():.6f}".encode()).digest()
    return timedelta(seconds=most * int.from_bytes(drawn[:6]) / 2**48)
