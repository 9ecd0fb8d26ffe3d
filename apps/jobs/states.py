"""The life of a job. SQL, services, docs and tests all read it from here."""

from django.db.models import TextChoices


class JobState(TextChoices):
    SCHEDULED = "scheduled"  # run_at is still ahead
    BLOCKED = "blocked"  # waits for parents
    AWAITING_APPROVAL = "awaiting_approval"  # waits for a person
    QUEUED = "queued"  # any fitting worker may claim it
    RUNNING = "running"  # one session holds it under a fence
    RETRY_WAIT = "retry_wait"  # failed or was lost, will run again at run_at
    PAUSED = "paused"  # held by an operator; resume_state says where it goes back to
    COMPLETED = "completed"
    DEAD_LETTER = "dead_letter"  # out of attempts, losses or luck; replayable
    CANCELLED = "cancelled"


S = JobState
FINAL = frozenset({S.COMPLETED, S.DEAD_LETTER, S.CANCELLED})
LIVE = frozenset(JobState) - FINAL
WAITING = LIVE - {S.RUNNING}

# Who may move a job from where to where; a verb is a file in engine/. None: it did not exist.
MOVES: dict[tuple[JobState | None, JobState], set[str]] = {
    (None, S.QUEUED): {"enqueue"},
    (None, S.SCHEDULED): {"enqueue"},
    (None, S.BLOCKED): {"enqueue"},
    (None, S.AWAITING_APPROVAL): {"enqueue"},
    (S.SCHEDULED, S.QUEUED): {"promote", "retry_now", "reschedule", "run_next", "run_workflow_next"},
    (S.RETRY_WAIT, S.QUEUED): {"promote", "retry_now", "reschedule", "run_next", "run_workflow_next"},
    (S.QUEUED, S.SCHEDULED): {"reschedule"},
    (S.SCHEDULED, S.PAUSED): {"pause", "pause_workflow"},
    (S.BLOCKED, S.PAUSED): {"pause", "pause_workflow"},
    (S.AWAITING_APPROVAL, S.PAUSED): {"pause", "pause_workflow"},
    (S.QUEUED, S.PAUSED): {"pause", "pause_workflow"},
    (S.RETRY_WAIT, S.PAUSED): {"pause", "pause_workflow"},
    (S.PAUSED, S.SCHEDULED): {"resume", "resume_workflow"},
    (S.PAUSED, S.BLOCKED): {"resume", "resume_workflow"},
    (S.PAUSED, S.AWAITING_APPROVAL): {"resume", "resume_workflow"},
    (S.PAUSED, S.QUEUED): {"resume", "resume_workflow"},
    (S.PAUSED, S.RETRY_WAIT): {"resume", "resume_workflow"},
    (S.BLOCKED, S.QUEUED): {"wake_dependents", "set_parents"},
    (S.BLOCKED, S.SCHEDULED): {"wake_dependents", "set_parents"},
    (S.BLOCKED, S.AWAITING_APPROVAL): {"wake_dependents", "set_parents"},
    (S.QUEUED, S.BLOCKED): {"set_parents"},
    (S.SCHEDULED, S.BLOCKED): {"set_parents"},
    (S.AWAITING_APPROVAL, S.BLOCKED): {"set_parents"},
    (S.BLOCKED, S.CANCELLED): {"wake_dependents", "cancel", "vanish"},
    (S.AWAITING_APPROVAL, S.QUEUED): {"approve", "retry_now"},
    (S.AWAITING_APPROVAL, S.SCHEDULED): {"approve"},
    (S.QUEUED, S.RUNNING): {"claim"},
    (S.RUNNING, S.COMPLETED): {"report"},
    (S.RUNNING, S.RETRY_WAIT): {"report"},
    (S.RUNNING, S.DEAD_LETTER): {"report"},
    (S.RUNNING, S.CANCELLED): {"report", "cancel"},
    (S.RUNNING, S.SCHEDULED): {"report"},
    (S.RUNNING, S.QUEUED): {"report"},
    (S.RUNNING, S.AWAITING_APPROVAL): {"report"},  # its handler asks a person
    (S.RUNNING, S.PAUSED): {"report"},  # of a workflow that was paused meanwhile
    (S.SCHEDULED, S.CANCELLED): {"cancel", "vanish"},
    (S.AWAITING_APPROVAL, S.CANCELLED): {"cancel", "reject", "vanish"},
    (S.QUEUED, S.CANCELLED): {"cancel", "purge", "vanish"},
    (S.RETRY_WAIT, S.CANCELLED): {"cancel", "vanish"},
    (S.PAUSED, S.CANCELLED): {"cancel", "wake_dependents", "vanish"},
    (S.DEAD_LETTER, S.QUEUED): {"replay"},
    (S.DEAD_LETTER, S.SCHEDULED): {"replay"},  # paced: one of many
    (S.CANCELLED, S.BLOCKED): {"replay"},  # a descendant, revived with its parent
}


class WorkflowState(TextChoices):
    """Where a workflow stands: told from the states of its jobs, written down nowhere."""

    PENDING = "pending"  # nothing of it has run
    RUNNING = "running"  # something has run, something is still to run
    AWAITING_APPROVAL = "awaiting_approval"  # it goes on once somebody approves
    PAUSED = "paused"  # nothing of it starts until it is resumed
    CANCELLING = "cancelling"  # cancelled, and a job of it has not stopped yet
    COMPLETED = "completed"  # every job did
    FAILED = "failed"  # all have ended, and not all well
    CANCELLED = "cancelled"


OVER = frozenset(
    {WorkflowState.COMPLETED, WorkflowState.FAILED, WorkflowState.CANCELLED}
)  # nothing of it runs any more


class Outcome(TextChoices):
    """How one attempt ended."""

    SUCCESS = "success"
    RETRYABLE_ERROR = "retryable_error"
    PERMANENT_ERROR = "permanent_error"
    TIMEOUT = "timeout"
    LOST = "lost"  # its session fell silent
    CRASHED = "crashed"  # its executor died
    SNOOZED = "snoozed"  # asked to be run later; spends no attempt
    NEEDS_APPROVAL = "needs_approval"  # asked a person to look first; spends no attempt
    RELEASED = "released"  # handed back by a draining worker; spends no attempt
    CANCELLED = "cancelled"


# What counts as a failure wherever failures are counted; partition.py has an index of them.
FAILED = (Outcome.RETRYABLE_ERROR, Outcome.PERMANENT_ERROR, Outcome.TIMEOUT, Outcome.LOST, Outcome.CRASHED)


class Overlap(TextChoices):
    """What becomes of a tick while the job of the one before has not ended."""

    SKIP = "skip"
    QUEUE = "queue"  # its job waits for that one's end
    CANCEL_RUNNING = "cancel_running"  # that one is cancelled; its job waits for the end


class CatchUp(TextChoices):
    """What becomes of ticks that no scheduler was there for."""

    SKIP = "skip"
    FIRE_ONCE = "fire_once"
    FIRE_ALL = "fire_all"  # the last catchup_max of them


class TickOutcome(TextChoices):
    """What became of one expected firing of a schedule."""

    FIRED = "fired"  # a job was made
    SKIPPED = "skipped"  # somebody saw to it and made none: `why` says the reason
    MISSED = "missed"  # nobody was there in time


class Reason(TextChoices):
    """Why a job ended, when it did not complete."""

    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    LOST_EXHAUSTED = "lost_exhausted"
    SNOOZES_EXHAUSTED = "snoozes_exhausted"
    PERMANENT_ERROR = "permanent_error"
    PARENT_FAILED = "parent_failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    PURGED = "purged"


class OnParentFailure(TextChoices):
    CANCEL = "cancel"
    RUN = "run"


class Placement(TextChoices):
    """Where a job may run. One that names a worker keeps to it."""

    ANY = "any"  # on any worker that is not reserved
    JOB = "job"  # where it ran first, or on the worker that is required
    DISPATCH = "dispatch"  # where its workflow goes
