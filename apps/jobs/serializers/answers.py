"""What is answered about jobs."""

from typing import Any

from rest_framework import serializers

from apps.jobs.states import JobState
from apps.workers.models import ReservationState

WORKER_STATES = ["live", "draining", "offline"]


class ReceiptAnswer(serializers.Serializer[Any]):
    """Where a submitted job now waits."""

    id = serializers.UUIDField()
    queue = serializers.UUIDField()
    type = serializers.CharField()
    state = serializers.ChoiceField(JobState.choices)
    is_new = serializers.BooleanField(help_text="false: a live job held the unique key, and this is it.")


class ItemFaultAnswer(serializers.Serializer[Any]):
    pointer = serializers.CharField()
    detail = serializers.CharField()


class RefusedAnswer(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()
    errors = ItemFaultAnswer(many=True)  # type: ignore[assignment]


class RejectedAnswer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="Its place in the call, from 0.")
    error = RefusedAnswer()


class BatchReceiptAnswer(serializers.Serializer[Any]):
    batch = serializers.UUIDField(allow_null=True, help_text="null: every job was rejected.")
    jobs = ReceiptAnswer(many=True)
    rejected = RejectedAnswer(many=True, required=False, help_text="With on_error: reject_item.")


class BatchAnswer(serializers.Serializer[Any]):
    """How far a batch is."""

    id = serializers.UUIDField()
    project = serializers.UUIDField(source="project_id")
    queue = serializers.UUIDField(source="queue_id", allow_null=True)
    size = serializers.IntegerField(help_text="The jobs that were made for it.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Those by state that are still kept.")
    left = serializers.IntegerField(help_text="Those that have not ended.")
    percent = serializers.FloatField(help_text="Of its jobs that have ended.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True, help_text="null: not all have ended.")
    elapsed_seconds = serializers.FloatField()
    remaining_seconds = serializers.FloatField(
        allow_null=True, help_text="A guess by its pace; null: nothing has ended."
    )
    completed_at = serializers.DateTimeField(allow_null=True, help_text="When the job that follows it was made.")
    on_complete_job = serializers.UUIDField(allow_null=True)
    submitted_by = serializers.UUIDField(allow_null=True, help_text="A user or a token.")


class JobAnswer(serializers.Serializer[Any]):
    """A job as lists show it."""

    id = serializers.UUIDField()
    queue = serializers.UUIDField(source="queue_id")
    queue_name = serializers.CharField()
    type = serializers.CharField()
    state = serializers.ChoiceField(JobState.choices)
    reason = serializers.CharField(allow_null=True, help_text="Why it ended, when it did not complete.")
    priority = serializers.IntegerField()
    position = serializers.IntegerField(allow_null=True, help_text="Its place among the queue's waiting jobs.")
    run_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    elapsed_seconds = serializers.FloatField(allow_null=True)
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    stage = serializers.CharField(allow_null=True)
    done = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    last_error = serializers.CharField(
        allow_null=True, help_text="Since it was submitted or replayed; `attempts` keeps those of before, too."
    )
    result_url = serializers.CharField(allow_null=True, help_text="The first file it saved.")
    cancel_requested = serializers.BooleanField()
    labels = serializers.DictField(child=serializers.CharField(), allow_null=True)
    workflow = serializers.UUIDField(source="workflow_id", allow_null=True)
    batch = serializers.UUIDField(source="batch_id", allow_null=True)
    submitted_by = serializers.UUIDField(allow_null=True, help_text="A user or a token.")
    required_worker = serializers.CharField(allow_null=True, help_text="The uid of the only worker that may run it.")
    assigned_worker = serializers.CharField(
        allow_null=True, help_text="The worker that it, or its workflow, is bound to."
    )


class CancelledAnswer(JobAnswer):
    cancelling = serializers.BooleanField(help_text="It runs, and has been asked to stop.")


class LogLineAnswer(serializers.Serializer[Any]):
    attempt = serializers.IntegerField()
    line = serializers.IntegerField()
    at = serializers.DateTimeField()
    level = serializers.CharField()
    message = serializers.CharField()


class LogsAnswer(serializers.Serializer[Any]):
    results = LogLineAnswer(many=True)
    next = serializers.CharField(allow_null=True)


class AttemptAnswer(serializers.Serializer[Any]):
    attempt = serializers.IntegerField()
    generation = serializers.IntegerField()
    fence = serializers.CharField(help_text="A number, sent as text: it passes 2^53.")
    worker = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    outcome = serializers.CharField(allow_null=True, help_text="null: it runs.")
    error_class = serializers.CharField(allow_null=True)
    error_message = serializers.CharField(allow_null=True)
    traceback = serializers.CharField(allow_null=True)
    runtime = serializers.JSONField()
    logs = LogLineAnswer(many=True)


class RelativeAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    type = serializers.CharField(allow_null=True, help_text="null: it has been pruned.")
    state = serializers.CharField(allow_null=True)


class LeaseAnswer(serializers.Serializer[Any]):
    worker = serializers.CharField()
    session = serializers.UUIDField()
    fence = serializers.CharField()
    expires_at = serializers.DateTimeField()
    deadline_at = serializers.DateTimeField(allow_null=True)


class FileAnswer(serializers.Serializer[Any]):
    name = serializers.CharField()
    bytes = serializers.IntegerField()
    url = serializers.CharField()


class GateAnswer(serializers.Serializer[Any]):
    """One thing a waiting job waits for."""

    code = serializers.CharField(
        help_text="due, parents, approval, paused, queue_paused, type_paused, no_worker, cap_counting, cap_full, "
        "key_full, rate, breaker_open, breaker_half_open, worker_offline, worker_draining, worker_reserved, worker_unable, "
        "reservation_pending, slots_taken, in_line"
    )
    says = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True, help_text="When it opens by itself, as far as that is known.")
    by = serializers.CharField(allow_null=True, help_text="Who paused, or the worker it is bound to.")
    jobs = serializers.ListField(child=serializers.UUIDField(), help_text="Its parents, or a few that hold the places.")


class WhyAnswer(serializers.Serializer[Any]):
    """Why a job waits: what must open first stands first."""

    says = serializers.CharField(help_text="The first gate.")
    gates = GateAnswer(many=True)
    position = serializers.IntegerField(allow_null=True, help_text="1 is next of its queue.")
    is_far = serializers.BooleanField(help_text="It stands at least there; nothing was counted further.")
    starts_at = serializers.DateTimeField(allow_null=True, help_text="A guess, by the queue's present pace.")


class ApprovalAnswer(serializers.Serializer[Any]):
    """What was asked of a person, and what was decided."""

    asked_at = serializers.DateTimeField(
        allow_null=True, help_text="When its handler asked; null: it was submitted so."
    )
    decision = serializers.ChoiceField(["approved", "rejected"], allow_null=True, help_text="null: not yet.")
    at = serializers.DateTimeField(allow_null=True)
    by = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_null=True, allow_blank=True)


class ReplacedAnswer(serializers.Serializer[Any]):
    payload = serializers.JSONField()
    replaced_at = serializers.DateTimeField()
    by = serializers.CharField()


class JobDetailAnswer(JobAnswer):
    generation = serializers.IntegerField()
    losses = serializers.IntegerField()
    max_losses = serializers.IntegerField()
    snoozes = serializers.IntegerField()
    max_snoozes = serializers.IntegerField()
    timeout_ms = serializers.IntegerField(allow_null=True, help_text="null: the queue's.")
    retry_policy = serializers.UUIDField(source="retry_policy_id", allow_null=True, help_text="null: the queue's.")
    on_parent_failure = serializers.CharField(allow_null=True)
    unique_key = serializers.CharField(allow_null=True)
    concurrency_key = serializers.CharField(allow_null=True)
    requires_approval = serializers.BooleanField(help_text="Before it runs, after its parents.")
    approval = ApprovalAnswer(allow_null=True)
    placement = serializers.CharField(help_text="any, job or dispatch")
    pending_parents = serializers.IntegerField()
    payload = serializers.JSONField()
    result = serializers.JSONField(help_text="While it awaits approval, what its handler asks about.")
    earlier_payloads = ReplacedAnswer(many=True, help_text="Those it was replayed without, oldest first.")
    payload_hidden = serializers.BooleanField(help_text="Your role does not see payload and result.")
    note = serializers.CharField(allow_null=True)
    why_waiting = WhyAnswer(allow_null=True, help_text="null: it runs, or has ended.")
    lease = LeaseAnswer(allow_null=True)
    attempts = AttemptAnswer(many=True)
    parents = RelativeAnswer(many=True)
    children = RelativeAnswer(many=True)
    files = FileAnswer(many=True)


class DeadAnswer(serializers.Serializer[Any]):
    job = serializers.UUIDField(source="id")
    queue = serializers.UUIDField(source="queue_id")
    queue_name = serializers.CharField()
    type = serializers.CharField()
    reason = serializers.CharField(allow_null=True)
    priority = serializers.IntegerField()
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    died_at = serializers.DateTimeField()
    last_error_class = serializers.CharField(allow_null=True)
    last_error_message = serializers.CharField(allow_null=True)
    replayable = serializers.BooleanField()
    blocked_by = serializers.ListField(child=serializers.UUIDField(), help_text="What stands in a replay's way.")


class ReplayedAnswer(serializers.Serializer[Any]):
    replayed = serializers.IntegerField()
    full = serializers.BooleanField(help_text="It stopped at the queue's max_depth.")
    more = serializers.BooleanField(help_text="There are dead letters that it did not come to: ask again.")
    skipped = serializers.ListField(
        child=serializers.UUIDField(), help_text="Left, because something stands in the way."
    )
    upto = serializers.UUIDField(allow_null=True, help_text="The last one it looked at: go on `after` it.")


class ResumedTypeAnswer(serializers.Serializer[Any]):
    type = serializers.CharField()
    was_paused = serializers.BooleanField()


class PurgedAnswer(serializers.Serializer[Any]):
    cancelled = serializers.IntegerField()


class ReservationAnswer(serializers.Serializer[Any]):
    """A worker and a workflow bound to each other, both ways."""

    id = serializers.UUIDField()
    workflow = serializers.UUIDField(source="workflow_id")
    worker = serializers.CharField(
        source="worker.uid", default=None, allow_null=True, help_text="null: none found yet."
    )
    state = serializers.ChoiceField(ReservationState.choices)
    generation = serializers.IntegerField(help_text="Grows when its worker is lost.")
    last_error = serializers.CharField(help_text="Why it waits, or does not go on; empty: it does.")
    created_at = serializers.DateTimeField()
    released_at = serializers.DateTimeField(allow_null=True)


class WorkerAnswer(serializers.Serializer[Any]):
    uid = serializers.CharField()
    hostname = serializers.CharField()
    pid = serializers.IntegerField()
    state = serializers.ChoiceField(WORKER_STATES)
    concurrency = serializers.IntegerField()
    pools = serializers.DictField(
        child=serializers.IntegerField(), help_text="Its slots; those of `default` are for what no other pool is for."
    )
    held_jobs = serializers.IntegerField(help_text="Yours alone.")
    types = serializers.ListField(child=serializers.CharField())
    version = serializers.CharField()
    started_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    sample = serializers.JSONField()
    capabilities = serializers.JSONField()
