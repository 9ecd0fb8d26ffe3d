"""How things are said on every page. Nothing here marks data as safe: format_html escapes what it is given."""

import json
from datetime import UTC, datetime
from uuid import UUID

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from apps.jobs.models import Job
from apps.jobs.states import JobState

register = template.Library()

# What a state is called and the colour family it is shown in (static/fencepost/fencepost.css).
STATES = {
    "scheduled": ("scheduled", "later"),
    "blocked": ("blocked", "quiet"),
    "awaiting_approval": ("awaits approval", "warn"),
    "queued": ("queued", "quiet"),
    "running": ("running", "busy"),
    "retry_wait": ("will retry", "warn"),
    "paused": ("paused", "warn"),
    "completed": ("completed", "good"),
    "dead_letter": ("dead letter", "bad"),
    "cancelled": ("cancelled", "quiet"),
    # workflows
    "pending": ("pending", "quiet"),
    "cancelling": ("cancelling", "warn"),
    "failed": ("failed", "bad"),
    # attempts
    "success": ("success", "good"),
    "retryable_error": ("failed", "warn"),
    "permanent_error": ("failed for good", "bad"),
    "timeout": ("timed out", "bad"),
    "lost": ("lost", "bad"),
    "crashed": ("crashed", "bad"),
    "snoozed": ("snoozed", "later"),
    "needs_approval": ("asked for approval", "later"),
    "released": ("released", "quiet"),
    # queues
    "moving": ("moving", "good"),
    "idle": ("idle", "quiet"),
    "tripped": ("breaker open", "bad"),
    "late": ("late", "warn"),
    "stuck": ("stuck", "bad"),
    # schedules and their ticks
    "on": ("on", "good"),
    "troubled": ("in trouble", "bad"),
    "fired": ("fired", "good"),
    "skipped": ("skipped", "warn"),
    "missed": ("missed", "bad"),
    # workers
    "live": ("live", "good"),
    "draining": ("draining", "warn"),
    "silent": ("silent", "bad"),
    "offline": ("offline", "bad"),
    "stopped": ("stopped", "quiet"),
    # reservations, besides those that are pending or draining
    "bound": ("bound", "good"),
}
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """One symbol of the sprite; decoration unless it carries a label."""
    href = static("vendor/tabler-icons/icons.svg")
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"/></svg>', label, href, name)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', href, name)


@register.simple_tag
def state(name: str, why: str = "") -> SafeString:
    """A state as a badge; the reason, if any, on hover."""
    text, family = STATES.get(name, (name, "quiet"))
    if why:
        return format_html('<span class="st st-{}" title="{}">{}</span>', family, why, text)
    return format_html('<span class="st st-{}">{}</span>', family, text)


@register.simple_tag
def ago(moment: datetime | None, empty: str = "–") -> SafeString | str:
    """A time relative to now; app.js keeps it current and shows the exact one in the viewer's zone on hover."""
    if not moment:  # a missing variable is an empty text
        return empty
    seconds = (now() - moment).total_seconds()
    said = f"in {span(-seconds)}" if seconds < -1 else f"{span(seconds)} ago" if seconds >= 1 else "just now"
    return _time(moment, said, "ago")


@register.simple_tag
def age(moment: datetime | None, empty: str = "–") -> SafeString | str:
    """How long ago, without the word: for columns headed Oldest."""
    return _time(moment, span((now() - moment).total_seconds()), "age") if moment else empty


@register.simple_tag
def clock(moment: datetime | None, empty: str = "–") -> SafeString | str:
    """The exact time of day; app.js shows it in the viewer's zone."""
    return _time(moment, f"{moment.astimezone(UTC):%H:%M:%S}", "clock") if moment else empty


@register.simple_tag
def exact(moment: datetime | None, empty: str = "–") -> SafeString | str:
    """Day and time; app.js shows them in the viewer's zone."""
    return _time(moment, f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC", "exact") if moment else empty


def _time(moment: datetime, said: str, kind: str) -> SafeString:
    exact = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}" data-time="{}">{}</time>',
        exact.isoformat(),
        f"{exact:%Y-%m-%d %H:%M:%S} UTC",
        kind,
        said,
    )


@register.filter
def pretty(value: object) -> str:
    """JSON, as it is read best."""
    return json.dumps(value, indent=4, ensure_ascii=False)


@register.filter
def span(seconds: float | None) -> str:
    """A length of time in its two largest words: 412 ms, 4.2 s, 13 min, 2 h 5 min."""
    if seconds is None:
        return "–"
    seconds = max(float(seconds), 0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    for position, (size, word) in enumerate(UNITS):
        if seconds >= size:
            whole, rest = divmod(int(seconds), size)
            smaller = UNITS[position + 1 : position + 2]
            part = rest // smaller[0][0] if smaller else 0
            return f"{whole} {word}" + (f" {part} {smaller[0][1]}" if part else "")
    return ""


@register.filter
def took(row: object) -> float | None:
    """How long an attempt or a job ran."""
    started, finished = getattr(row, "started_at", None), getattr(row, "finished_at", None)
    if started is None:
        return None
    return float(((finished or now()) - started).total_seconds())


@register.filter
def tail(value: UUID | str) -> str:
    """The end of an id, which tells jobs apart; its beginning is only the time."""
    return str(value)[-8:]


@register.filter
def capped(number: int, is_capped: bool = False) -> str:  # noqa: FBT001 - filters take positions
    """A count that stopped counting says so."""
    return f"{number:,}+" if is_capped else f"{number:,}"


@register.filter
def wall(moment: datetime) -> str:
    """What the clock on the wall shows, where a moment's own zone is."""
    return f"{moment:%a %Y-%m-%d %H:%M %Z}"


@register.filter
def ms(number: int | None) -> str:
    """A length of time given in milliseconds."""
    return span(None if number is None else number / 1000)


@register.filter
def state_name(name: str) -> str:
    """What a state is called, without its badge."""
    return STATES.get(name, (name, ""))[0]


@register.filter
def state_class(name: str) -> str:
    """The colour family of a state, for what is drawn."""
    return f"st-{STATES.get(name, (name, 'quiet'))[1]}"


@register.filter
def moved_at(job: Job) -> datetime:
    """When a job last changed, as far as its row tells."""
    if job.finished_at:
        return job.finished_at
    return (job.started_at if job.state == JobState.RUNNING else None) or job.created_at
