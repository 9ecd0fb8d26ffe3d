"""What requests about jobs may say. What a submitted job may say is checked by services.check; here it is told."""

from typing import Any

from apps.accounts.serializers.fields import (
    Body,
    Count,
    Entries,
    Flag,
    Id,
    Items,
    Json,
    Moment,
    Number,
    Pick,
    Query,
    Switch,
    Text,
    Whole,
)
from apps.errors import BadInput
from apps.jobs.states import OnParentFailure, Placement
from apps.queues.states import TIMEOUT_MAX_MS

KEY_MAX, NAME_MAX, ERROR_MAX, NOTE_MAX = 255, 128, 255, 1000
BULK_MAX = LINES_MAX = 1000
DELAY_MAX = 10 * 365 * 86_400  # seconds


class JobFields(Body):
    """One job to submit. A test compares these names with what services.check knows."""

    type = Text(max_length=NAME_MAX)
    payload = Json(required=False, help_text="Any JSON, at most PAYLOAD_MAX_BYTES.")
    priority = Whole(min_value=-1000, max_value=1000, required=False, help_text="Higher runs first.")
    run_at = Moment(required=False)
    delay_seconds = Number(min_value=0, required=False, help_text="Instead of run_at.")
    timeout_ms = Whole(min_value=1, max_value=TIMEOUT_MAX_MS, required=False)
    retry_policy = Text(max_length=NAME_MAX, required=False, help_text="Its id, or its name in the project.")
    max_attempts = Whole(min_value=1, max_value=1000, required=False)
    max_losses = Whole(min_value=1, max_value=1000, required=False)
    max_snoozes = Whole(min_value=0, max_value=1000, required=False, help_text="How often it may put itself off.")
    depends_on = Items(child=Id(), required=False, help_text="Jobs of the project.")
    on_parent_failure = Pick(OnParentFailure.choices, required=False)
    unique_key = Text(max_length=KEY_MAX, required=False, help_text="A live job of the queue that has it is answered.")
    concurrency_key = Text(
        max_length=KEY_MAX, required=False, help_text="Of the jobs that share it, max_per_key of the queue run at once."
    )
    requires_approval = Flag(required=False, help_text="Somebody must approve it before it runs.")
    workflow = Id(required=False, help_text="A workflow of the project that it joins.")
    required_worker = Text(max_length=NAME_MAX, required=False, help_text="The uid of the only worker that may run it.")
    placement = Pick(
        Placement.choices,
        required=False,
        help_text="job: it stays with the worker that runs it first; dispatch: it goes where its workflow goes. "
        "Default: any.",
    )
    labels = Entries(child=Text(max_length=KEY_MAX, allow_blank=True), required=False)


class AfterFields(Body):
    """The job that follows a batch."""

    type = Text(max_length=NAME_MAX)
    payload = Entries(required=False, help_text="An object without `batch`, which is added to it.")
    priority = Whole(min_value=-1000, max_value=1000, required=False)
    delay_seconds = Number(min_value=0, required=False)
    timeout_ms = Whole(min_value=1, max_value=TIMEOUT_MAX_MS, required=False)
    retry_policy = Text(max_length=NAME_MAX, required=False, help_text="Its id, or its name in the project.")
    max_attempts = Whole(min_value=1, max_value=1000, required=False)
    max_losses = Whole(min_value=1, max_value=1000, required=False)
    max_snoozes = Whole(min_value=0, max_value=1000, required=False)
    concurrency_key = Text(max_length=KEY_MAX, required=False)
    requires_approval = Flag(required=False, help_text="Somebody must approve it before it runs.")
    labels = Entries(child=Text(max_length=KEY_MAX, allow_blank=True), required=False)


class Batch(Body):
    jobs = JobFields(many=True)
    on_error = Pick(["reject_all", "reject_item"], required=False, help_text="reject_all unless said.")
    on_complete = AfterFields(required=False)


class Cancel(Body):
    force = Flag(required=False, help_text="End a running attempt now, and fence its worker.")


class Replay(Body):
    revive_descendants = Flag(required=False, help_text="Run what was cancelled because this job died.")
    payload = Json(required=False, allow_null=True, help_text="Instead of the one it has, which stays readable.")


class ChangeJob(Body):
    depends_on = Items(
        child=Id(),
        help_text="All jobs of the project that it is to wait for; none: it waits for nobody.",
    )


class Duplicate(Body):
    payload = Json(required=False, allow_null=True, help_text="Instead of the original's.")
    priority = Whole(min_value=-1000, max_value=1000, required=False)
    run_at = Moment(required=False, help_text="Due now unless said.")


class ReplayQueue(Body):
    limit = Whole(min_value=1, max_value=BULK_MAX, required=False)
    rate_per_second = Number(min_value=0.001, max_value=10_000, required=False)
    error_class = Text(max_length=ERROR_MAX, required=False)
    after = Id(required=False, help_text="Only those behind this one: `upto` of the call before.")


class PauseJob(Body):
    reason = Text(max_length=255, required=False, allow_blank=True)


class Decide(Body):
    note = Text(max_length=NOTE_MAX, required=False, allow_blank=True, help_text="Kept, and told to the handler.")


class Reschedule(Body):
    run_at = Moment(required=False, help_text="A time that has passed means now.")
    delay_seconds = Number(min_value=0, max_value=DELAY_MAX, required=False, help_text="Instead of run_at.")

    def checked(self) -> dict[str, Any]:
        fields = super().checked()
        if len(fields) != 1:
            raise BadInput.at("#/run_at", "Give run_at or delay_seconds, and not both.")
        return fields


class Priority(Body):
    priority = Whole(min_value=-1000, max_value=1000, help_text="Higher runs first.")


class Move(Body):
    to = Pick(["up", "down", "top", "bottom"])


class Reassign(Body):
    worker = Text(max_length=NAME_MAX, allow_null=True, help_text="Its uid. null: the first worker that takes it.")


class NewReservation(Body):
    workflow = Id()
    worker = Text(max_length=NAME_MAX, required=False, help_text="Its uid. Default: the live one that has least to do.")


class Nothing(Body):
    """An empty object."""


class Delete(Query):
    cancel = Switch(required=False, help_text="Cancel the jobs that it holds.")


class WhereQuery(Query):
    """Where to look: in a project, or in one queue, of that project if both are named."""

    project = Id(required=False, help_text="Needed, unless a queue is named.")
    queue = Id(required=False, help_text="Needed, unless a project is named.")


class JobsQuery(WhereQuery):
    state = Text(max_length=200, required=False, help_text="One, or several with commas between.")
    type = Text(max_length=1000, required=False, help_text="One, or several with commas between.")
    label = Text(  # type: ignore[assignment]
        max_length=400, required=False, help_text="name:text"
    )
    workflow = Id(required=False)
    batch = Id(required=False)
    created_after = Moment(required=False)
    created_before = Moment(required=False)


class LogsQuery(Query):
    after = Text(max_length=40, required=False, help_text="`next` of the page before: a fence and a line.")
    limit = Count(min_value=1, max_value=LINES_MAX, required=False)


class DeadQuery(WhereQuery):
    error_class = Text(max_length=ERROR_MAX, required=False)
