"""Bodies and answers of queues and retry policies."""

from typing import Any

from django.utils.timezone import now
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.models import Role
from apps.accounts.serializers.fields import Body, Flag, Items, Moment, Number, Pick, Slug, Text, Whole
from apps.queues.models import (
    AGING_MAX,
    CAP_MAX,
    COOLDOWN_MAX,
    DEPTH_MAX,
    RATE_MAX,
    RATE_MIN,
    SHARE_MIN,
    WEIGHT_MAX,
    WINDOW_MAX,
    BreakerState,
    Curve,
    Queue,
    RetryPolicy,
)
from apps.queues.selectors import breaker_now
from apps.queues.states import TIMEOUT_MAX_MS

DAYS_MAX = 3650
DELAY_MAX_MS = 10**12


class Breaker(Body):
    """When a queue's breaker opens, and for how long; its state is `breaker_state`."""

    where = "#/breaker/"

    window = Whole(min_value=1, max_value=WINDOW_MAX, help_text="Outcomes looked at: the last jobs of it that ran.")
    trip = Whole(
        min_value=1,
        max_value=WINDOW_MAX,
        required=False,
        allow_null=True,
        help_text="Failures among them that open it.",
    )
    share = Number(
        min_value=SHARE_MIN,
        max_value=1,
        required=False,
        allow_null=True,
        help_text="Or: the share of failures that opens it, once the window is full. One of both at least.",
    )
    cooldown_seconds = Whole(
        min_value=1,
        max_value=COOLDOWN_MAX,
        help_text="After so long one job may try; after each that fails, twice as long, up to an hour.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        trip, share = attrs.get("trip"), attrs.get("share")
        if trip is None and share is None:
            raise serializers.ValidationError({"trip": "Say how many failures open it, or which share."})
        if trip is not None and trip > attrs["window"]:
            raise serializers.ValidationError({"trip": f"The window holds {attrs['window']} outcomes."})
        return attrs


BREAKER = ("window", "trip", "share", "cooldown_seconds")


class QueueFields(Body):
    """What may be said of a queue, when it is made and later."""

    retry_policy = Text(
        max_length=128, required=False, allow_null=True, help_text="Its id, or its name in the project."
    )
    default_priority = Whole(min_value=-1000, max_value=1000, required=False)
    aging_seconds = Whole(
        min_value=0,
        max_value=AGING_MAX,
        required=False,
        allow_null=True,
        help_text="A waiting job outruns one a priority higher after so long. null: never; 0: first in, first out. "
        "Jobs that wait are ranked anew, within seconds.",
    )
    timeout_ms = Whole(min_value=1, max_value=TIMEOUT_MAX_MS, required=False)
    max_concurrency = Whole(
        min_value=1, max_value=CAP_MAX, required=False, allow_null=True, help_text="Jobs at once, over all workers."
    )
    shards = Whole(
        min_value=1,
        max_value=64,
        required=False,
        help_text="Parts the cap is counted in, for many claimers at once; changes while nothing runs (409). "
        "A queue with a rate has one.",
    )
    rate_per_second = Number(
        min_value=RATE_MIN,
        max_value=RATE_MAX,
        required=False,
        allow_null=True,
        help_text="Starts per second, fractions too. In any time t at most burst + rate × t; a token spent does not come back.",
    )
    burst = Whole(
        min_value=1,
        max_value=CAP_MAX,
        required=False,
        allow_null=True,
        help_text="Starts that may come at once after a rest. null: a second's worth, at least 1.",
    )
    retention_days = Whole(min_value=1, max_value=DAYS_MAX, required=False, allow_null=True)
    dead_letter_retention_days = Whole(min_value=1, max_value=DAYS_MAX, required=False, allow_null=True)
    allowed_types = Items(
        child=Text(max_length=128), required=False, allow_null=True, max_length=1000, help_text="null: any."
    )
    hide_payloads_below = Pick(
        Role.choices, required=False, allow_null=True, help_text="Who does not see payloads. null: as the project says."
    )
    max_depth = Whole(
        min_value=1,
        max_value=DEPTH_MAX,
        required=False,
        allow_null=True,
        help_text="Submitting to a queue with so many queued jobs is refused with 429. Advisory: the depth is "
        "measured every two seconds, so a burst may pass it. null: no limit.",
    )
    max_per_key = Whole(
        min_value=1,
        max_value=CAP_MAX,
        required=False,
        allow_null=True,
        help_text="Jobs of one concurrency_key at once, over all workers. What runs when it is lowered runs on; "
        "what waits already is counted anew within seconds. null: no limit.",
    )
    weight = Whole(
        min_value=1,
        max_value=WEIGHT_MAX,
        required=False,
        help_text="Its share of a worker's slots among the queues that have work; 1 unless said.",
    )
    breaker = Breaker(required=False, allow_null=True, help_text="null: none. An open one closes when it is taken off.")

    def checked(self) -> dict[str, Any]:
        fields = super().checked()
        if "breaker" in fields:
            rules = fields.pop("breaker") or {}
            fields |= {f"breaker_{name}": rules.get(name) for name in BREAKER}
        return fields


class NewQueue(QueueFields):
    name = Slug()


class ChangeQueue(QueueFields):
    name = Slug(required=False)


class Pause(Body):
    reason = Text(max_length=255, required=False, allow_blank=True)
    until = Moment(required=False, allow_null=True, help_text="When it resumes by itself.")


class SetBreaker(Body):
    state = Pick([(one.value, one.label) for one in (BreakerState.OPEN, BreakerState.CLOSED)])
    until = Moment(
        required=False,
        allow_null=True,
        help_text="When a job may try; only with open. Else: its cooldown, or a minute.",
    )


class PolicyFields(Body):
    """What may be said of a retry policy. With n attempts made the delay is, before ceiling and jitter:

    fixed base; linear base·n; exponential base·2^(n−1); quartic (n−1)⁴ s + base; intervals the n-th of the list.
    """

    kind = Pick(Curve.choices, required=False)
    max_attempts = Whole(min_value=1, max_value=1000, required=False, help_text="The first run counts.")
    max_losses = Whole(min_value=1, max_value=1000, required=False)
    max_lost_attempts = Whole(min_value=1, max_value=1000, required=False, help_text="Another name of max_losses.")
    base_delay_ms = Whole(min_value=0, max_value=DELAY_MAX_MS, required=False)
    max_delay_ms = Whole(min_value=0, max_value=DELAY_MAX_MS, required=False)
    jitter = Flag(required=False)
    intervals = Items(
        child=Whole(min_value=0, max_value=DELAY_MAX_MS),
        required=False,
        allow_null=True,
        max_length=1000,
        help_text="Milliseconds, one per retry; of the kind intervals alone.",
    )

    def checked(self) -> dict[str, Any]:
        fields = super().checked()
        if "intervals" in fields:
            fields["intervals_ms"] = fields.pop("intervals") or None
        if "max_lost_attempts" in fields:
            fields["max_losses"] = fields.pop("max_lost_attempts")
        return fields


class NewPolicy(PolicyFields):
    name = Text(max_length=128)


class ChangePolicy(PolicyFields):
    name = Text(max_length=128, required=False)


class PausedAnswer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    until = serializers.DateTimeField(allow_null=True)
    by = serializers.CharField()
    reason = serializers.CharField()


class PausedTypeAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    project = serializers.UUIDField(source="project_id")
    type = serializers.CharField()
    at = serializers.DateTimeField(source="paused_at")
    until = serializers.DateTimeField(source="paused_until", allow_null=True)
    by = serializers.CharField(source="paused_by")
    reason = serializers.CharField(source="pause_reason", allow_blank=True)


class BreakerAnswer(serializers.Serializer[Any]):
    window = serializers.IntegerField()
    trip = serializers.IntegerField(allow_null=True)
    share = serializers.FloatField(allow_null=True)
    cooldown_seconds = serializers.IntegerField()


class BreakerStateAnswer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(BreakerState.choices)
    reopens_at = serializers.DateTimeField(allow_null=True, help_text="When a job may try.")
    trips = serializers.IntegerField(help_text="How often it opened by itself since it was closed.")


class QueueAnswer(serializers.Serializer[Queue]):
    id = serializers.UUIDField()
    project = serializers.UUIDField(source="project_id")
    name = serializers.CharField()
    retry_policy = serializers.UUIDField(source="retry_policy_id", allow_null=True)
    default_priority = serializers.IntegerField()
    aging_seconds = serializers.IntegerField(allow_null=True)
    timeout_ms = serializers.IntegerField()
    max_concurrency = serializers.IntegerField(allow_null=True)
    shards = serializers.IntegerField()
    rate_per_second = serializers.FloatField(allow_null=True)
    burst = serializers.IntegerField(allow_null=True)
    retention_days = serializers.IntegerField(allow_null=True)
    dead_letter_retention_days = serializers.IntegerField(allow_null=True)
    allowed_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
    hide_payloads_below = serializers.ChoiceField(Role.choices, allow_null=True)
    max_depth = serializers.IntegerField(allow_null=True)
    max_per_key = serializers.IntegerField(allow_null=True)
    weight = serializers.IntegerField()
    breaker = serializers.SerializerMethodField()
    breaker_state = serializers.SerializerMethodField()
    paused = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    @extend_schema_field(PausedAnswer(allow_null=True))
    def get_paused(self, queue: Queue) -> dict[str, Any] | None:
        """Null once its end has come."""
        if queue.paused_at is None or (queue.paused_until and queue.paused_until <= now()):
            return None
        told = {
            "at": queue.paused_at,
            "until": queue.paused_until,
            "by": queue.paused_by,
            "reason": queue.pause_reason,
        }
        return PausedAnswer(told).data

    @extend_schema_field(BreakerAnswer(allow_null=True))
    def get_breaker(self, queue: Queue) -> dict[str, Any] | None:
        rules = {name: getattr(queue, f"breaker_{name}") for name in BREAKER}
        return BreakerAnswer(rules).data if queue.breaker_window is not None else None

    @extend_schema_field(BreakerStateAnswer)
    def get_breaker_state(self, queue: Queue) -> dict[str, Any]:
        return BreakerStateAnswer(breaker_now(queue)).data


class PolicyAnswer(serializers.Serializer[RetryPolicy]):
    id = serializers.UUIDField()
    project = serializers.UUIDField(source="project_id")
    name = serializers.CharField()
    kind = serializers.ChoiceField(Curve.choices)
    max_attempts = serializers.IntegerField()
    max_losses = serializers.IntegerField()
    base_delay_ms = serializers.IntegerField()
    max_delay_ms = serializers.IntegerField()
    jitter = serializers.BooleanField()
    intervals = serializers.ListField(child=serializers.IntegerField(), source="intervals_ms", allow_null=True)
    created_at = serializers.DateTimeField()
