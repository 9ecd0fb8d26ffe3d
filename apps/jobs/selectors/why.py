"""Why a job waits: gate by gate, in the order in which they must open."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from apps.jobs.engine.why import FAR, FEW, Facts, why
from apps.jobs.models import Job
from apps.jobs.states import WAITING, JobState

LATE = timedelta(seconds=5)  # after which a job that is due and still not queued says so
DUE = (JobState.SCHEDULED, JobState.RETRY_WAIT)


@dataclass(frozen=True, slots=True)
class Gate:
    """One thing a job waits for. `until` is when it opens by itself, as far as that is known."""

    code: str
    says: str
    since: datetime | None = None
    until: datetime | None = None
    by: str | None = None
    jobs: Sequence[UUID] = ()  # the parents, or those that hold the places


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a job waits now; `gates` is never empty, and the first one is what it waits for first."""

    gates: list[Gate]
    position: int | None = None  # 1 is next; None: it does not stand in line yet
    is_far: bool = False  # it stands at least there
    starts_at: datetime | None = field(default=None)  # as long as nothing else comes in between

    @property
    def says(self) -> str:
        return self.gates[0].says


def why_waiting(job: Job) -> Waiting | None:
    """One answer in one statement; None for a job that runs or has ended."""
    facts = why(job_id=job.pk) if job.state in WAITING else None
    if facts is None or facts.state not in WAITING:
        return None
    gates = [gate for look in ORDER for gate in look(facts)]
    if facts.state != JobState.QUEUED or facts.ahead is None:
        return Waiting(gates)
    position, is_far = facts.ahead + 1, facts.ahead >= FAR
    starts_at = None
    if not gates and not is_far and facts.per_second:
        starts_at = facts.now + timedelta(seconds=min(position / facts.per_second, 10**9))
    return Waiting([*gates, _in_line(facts, position, starts_at)], position, is_far, starts_at)


def _due(facts: Facts) -> Iterator[Gate]:
    state = facts.resume_state if facts.state == JobState.PAUSED else facts.state
    if state not in DUE:
        return
    what = "It is due"
    if state == JobState.RETRY_WAIT:
        what = f"Attempt {facts.attempt} of {facts.max_attempts} did not succeed; the next is due"
    if facts.run_at > facts.now:
        yield Gate("due", f"{what} at {_at(facts.run_at)}.", until=facts.run_at)
    elif facts.state in DUE:
        late = facts.now - facts.run_at > LATE
        more = "no scheduler has queued it yet: does one run?" if late else "it is queued in a moment."
        yield Gate("due", f"{what} since {_at(facts.run_at)}; {more}", since=facts.run_at)


def _parents(facts: Facts) -> Iterator[Gate]:
    if not facts.pending:
        return
    named = zip(facts.parents or (), facts.parent_types or (), facts.parent_states or (), strict=True)
    words = [f"{kind or 'a job'} {key}" + (f" ({state})" if state else "") for key, kind, state in named]
    more = facts.pending - len(words)
    listed = ", ".join(words) + (f" and {more} more" if words and more > 0 else "")
    count = f"{facts.pending} parent{'' if facts.pending == 1 else 's'}"
    yield Gate("parents", f"It waits for {count}" + (f": {listed}." if listed else "."), jobs=facts.parents or ())


def _approval(facts: Facts) -> Iterator[Gate]:
    state = facts.resume_state if facts.state == JobState.PAUSED else facts.state
    if state == JobState.AWAITING_APPROVAL:
        since = _at(facts.approval_since) if facts.approval_since else "its beginning"
        says = f"It waits for somebody's approval since {since}."
        if facts.asked:
            says = f"Its handler waits for somebody's approval of what it has done so far, since {since}."
        yield Gate("approval", says, since=facts.approval_since)
    elif state == JobState.BLOCKED and facts.requires_approval:
        yield Gate("approval", "After its parents it needs somebody's approval.")


def _paused(facts: Facts) -> Iterator[Gate]:
    if facts.state == JobState.PAUSED:
        says = _pause("This job", facts.held_by, facts.hold_reason, facts.held_at, None)
        yield Gate("paused", says, since=facts.held_at, by=facts.held_by)
    if facts.paused_at and (facts.paused_until is None or facts.paused_until > facts.now):
        says = _pause("The queue", facts.paused_by, facts.pause_reason, facts.paused_at, facts.paused_until)
        yield Gate("queue_paused", says, since=facts.paused_at, until=facts.paused_until, by=facts.paused_by)


def _type_paused(facts: Facts) -> Iterator[Gate]:
    if facts.type_paused_at:
        until, by = facts.type_paused_until, facts.type_paused_by
        says = _pause(f"The type {facts.type}", by, facts.type_pause_reason, facts.type_paused_at, until)
        yield Gate("type_paused", says, since=facts.type_paused_at, until=until, by=by)


def _no_worker(facts: Facts) -> Iterator[Gate]:
    if facts.announcing or facts.target or facts.reservation:
        return
    since = facts.known_until if facts.known_until and facts.known_until <= facts.now else None
    if facts.draining:
        says = f"Of the workers that know {facts.type} each one drains and takes no more."
    elif facts.away:
        says = f"Of the workers that know {facts.type} each one is reserved for a workflow and takes nothing else."
    elif facts.serving:
        gone = f"; the last one that did was gone at {_at(since)}" if since else ""
        says = f"No live worker of this queue announces the type {facts.type}{gone}."
    else:
        gone = f"; the last one that knew {facts.type} was gone at {_at(since)}" if since else ""
        says = f"No live worker serves this queue{gone}."
    yield Gate("no_worker", says, since=since)


def _cap(facts: Facts) -> Iterator[Gate]:
    if facts.counting:
        yield Gate("cap_counting", "A limit of the queue is new, and opens when what runs already is counted.")
    elif facts.cap is not None and (facts.in_flight or 0) >= facts.cap:
        listed = _listed(facts.running or (), facts.in_flight or 0)
        says = f"All {facts.cap} places of the queue are taken{listed}."
        yield Gate("cap_full", says, jobs=facts.running or ())


def _key(facts: Facts) -> Iterator[Gate]:
    most, held = facts.max_per_key, facts.key_holds or 0
    if facts.key is None or not facts.key_full:
        return
    if most is None or held < most:
        says = f"Its key {facts.key!r} has a place free; it is let through within seconds."
    else:
        listed = _listed(facts.sharers or (), held)
        says = f"As many jobs of the key {facts.key!r} run, or are next, as may run at once ({held} of {most}){listed}."
    yield Gate("key_full", says, jobs=facts.sharers or ())


def _token(facts: Facts) -> Iterator[Gate]:
    if facts.rate is None or facts.tokens is None or facts.tokens >= 1:
        return
    next_at = facts.now + timedelta(seconds=min((1 - facts.tokens) / facts.rate, 10**9))
    says = f"The queue starts {facts.rate:g} jobs a second at most; the next may start at {_at(next_at)}."
    yield Gate("rate", says, until=next_at)


def _breaker(facts: Facts) -> Iterator[Gate]:
    if facts.breaker == "open" and facts.reopens_at and facts.reopens_at > facts.now:
        until = f"until {_at(facts.reopens_at)}"
        says = f"The breaker was opened by hand, {until}."
        if facts.trips:
            says = f"The breaker is open {until}: too many jobs of the queue failed."
        yield Gate("breaker_open", says, until=facts.reopens_at)
    elif facts.breaker in ("open", "half_open"):
        probe = [facts.probe_job] if facts.probe_job else []
        says = f"The breaker lets one job at a time through to try{f': {probe[0]}' if probe else ''}."
        yield Gate("breaker_half_open", says, jobs=probe)


def _target(facts: Facts) -> Iterator[Gate]:
    """One worker alone may run it, and cannot now."""
    only, live_at = f"It waits for worker {facts.target}", facts.target_live_at
    if facts.target is None:
        return
    if live_at is None or live_at <= facts.now:
        gone = f" since {_at(live_at)}" if live_at else ""
        yield Gate("worker_offline", f"{only}, which is offline{gone}.", since=live_at, by=facts.target)
    elif facts.target_drains:
        yield Gate("worker_draining", f"{only}, which drains and takes no more.", by=facts.target)
    elif facts.target_reserved:
        yield Gate("worker_reserved", f"{only}, which is reserved for another workflow.", by=facts.target)
    elif not facts.target_is_able:
        says = f"{only}, which does not serve this queue or announce the type {facts.type}."
        yield Gate("worker_unable", says, by=facts.target)


def _reservation(facts: Facts) -> Iterator[Gate]:
    if facts.reservation != "pending":
        return
    worker = f"worker {facts.target}" if facts.target else "a worker"
    error = f": {facts.reservation_error}" if facts.reservation_error else ""
    yield Gate(
        "reservation_pending", f"Its workflow waits until {worker} is free for it alone{error}.", by=facts.target
    )


def _slots(facts: Facts) -> Iterator[Gate]:
    if facts.announcing and facts.held >= facts.slots:
        workers = "the live worker" if facts.announcing == 1 else f"the {facts.announcing} live workers"
        yield Gate("slots_taken", f"All {facts.slots} slots of {workers} that know {facts.type} are taken.")


def _when_queued(look: Callable[[Facts], Iterator[Gate]]) -> Callable[[Facts], Iterator[Gate]]:
    """What changes from moment to moment says nothing about a job that is not there yet."""
    return lambda facts: look(facts) if facts.state == JobState.QUEUED else iter(())


ORDER: tuple[Callable[[Facts], Iterator[Gate]], ...] = (
    _due, _parents, _approval, _paused, _type_paused, _no_worker,
    _when_queued(_cap), _when_queued(_key), _when_queued(_token), _when_queued(_breaker),
    _target, _reservation, _when_queued(_slots),
)  # fmt: skip


def _in_line(facts: Facts, position: int, starts_at: datetime | None) -> Gate:
    place = f"more than {FAR} jobs of its queue are" if position > FAR else _ahead(position - 1)
    guess = f"; at the present pace it starts about {_at(starts_at)}" if starts_at else ""
    return Gate("in_line", f"It is queued, and {place} ahead of it{guess}.", since=facts.run_at, until=starts_at)


def _ahead(count: int) -> str:
    return (
        "nothing of its queue is"
        if not count
        else f"{count} job{'' if count == 1 else 's'} of its queue {'is' if count == 1 else 'are'}"
    )


def _pause(what: str, by: str | None, reason: str | None, since: datetime | None, until: datetime | None) -> str:
    words = [f"{what} is paused"]
    words += [f"by {by}"] if by else []
    words += [f"since {_at(since)}"] if since else []
    words += [f"until {_at(until)}"] if until else []
    return " ".join(words) + (f": {reason}." if reason else ".")


def _listed(jobs: Sequence[UUID], count: int) -> str:
    if not jobs:
        return ""
    more = count - len(jobs) if len(jobs) == FEW else 0
    return ", by " + ", ".join(map(str, jobs)) + (f" and {more} more" if more > 0 else "")


def _at(moment: datetime) -> str:
    """To the second: what is to come is not said to be before it is so, nor what was to be still to come."""
    up = -moment.microsecond % 10**6 if moment > datetime.now(UTC) else 0
    return f"{moment.astimezone(UTC) + timedelta(microseconds=up):%Y-%m-%d %H:%M:%S} UTC"
