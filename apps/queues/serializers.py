"""Bodies and answers of queues and retry policies."""

from typing import Any

from django.utils.timezone import now
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.serializers.fields import Body, Flag, Moment, Pick, Slug, Text, Whole
from apps.queues.models import AGING_MAX, Curve, Queue, RetryPolicy

DAYS_MAX = 3650
DELAY_MAX_MS = 10**12
TIMEOUT_MAX_MS = 30 * 86_400_000


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
        "Counts for jobs submitted from now on.",
    )
    timeout_ms = Whole(min_value=1, max_value=TIMEOUT_MAX_MS, required=False)
    retention_days = Whole(min_value=1, max_value=DAYS_MAX, required=False, allow_null=True)
    dead_letter_retention_days = Whole(min_value=1, max_value=DAYS_MAX, required=False, allow_null=True)
    allowed_types = serializers.ListField(
        child=Text(max_length=128), required=False, allow_null=True, max_length=1000, help_text="null: any."
    )


class NewQueue(QueueFields):
    name = Slug()


class ChangeQueue(QueueFields):
    name = Slug(required=False)


class Pause(Body):
    reason = Text(max_length=255, required=False, allow_blank=True)
    until = Moment(required=False, allow_null=True, help_text="When it resumes by itself.")


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
    intervals = serializers.ListField(
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


class QueueAnswer(serializers.Serializer[Queue]):
    id = serializers.UUIDField()
    project = serializers.UUIDField(source="project_id")
    name = serializers.CharField()
    retry_policy = serializers.UUIDField(source="retry_policy_id", allow_null=True)
    default_priority = serializers.IntegerField()
    aging_seconds = serializers.IntegerField(allow_null=True)
    timeout_ms = serializers.IntegerField()
    retention_days = serializers.IntegerField(allow_null=True)
    dead_letter_retention_days = serializers.IntegerField(allow_null=True)
    allowed_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
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
