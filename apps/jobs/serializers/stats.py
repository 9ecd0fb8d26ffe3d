"""What is answered about how queues do."""

from typing import Any

from rest_framework import serializers

from apps.accounts.serializers.fields import Count, Query
from apps.jobs.selectors.health import HEALTHS
from apps.jobs.states import JobState
from apps.queues.models import BreakerState

MINUTES, MINUTES_MAX = 60, 1440


class SeriesQuery(Query):
    minutes = Count(min_value=1, max_value=MINUTES_MAX, required=False, help_text=f"How many: {MINUTES} unless said.")


class TiersAnswer(serializers.Serializer[Any]):
    """Of what waits: by priority above 0, 0 and below, as far as it was looked at; `total` goes further."""

    total = serializers.IntegerField(source="waiting")
    high = serializers.IntegerField()
    normal = serializers.IntegerField()
    low = serializers.IntegerField()
    capped = serializers.BooleanField(source="is_capped", help_text="There may be more than the tiers say.")


class HourAnswer(serializers.Serializer[Any]):
    completed = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Attempts.")
    dead_lettered = serializers.IntegerField()


class QueueHealthAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="facts.id")
    queue = serializers.CharField(source="facts.name")
    depth = TiersAnswer(source="facts")
    oldest_ready_seconds = serializers.FloatField(source="facts.oldest_seconds", allow_null=True)
    in_flight = serializers.IntegerField(source="facts.in_flight")
    cap = serializers.IntegerField(source="facts.cap", allow_null=True)
    live_workers = serializers.IntegerField(source="facts.live_workers", help_text="Those that serve it and take jobs.")
    breaker = serializers.ChoiceField(BreakerState.choices, source="facts.breaker")
    rate_limited = serializers.BooleanField(source="facts.rate_limited", help_text="Its next token is yet to come.")
    saturated = serializers.BooleanField(help_text="All places of its cap are taken.")
    starved = serializers.BooleanField(help_text="Something waits, and no live worker serves it.")
    last_hour = HourAnswer(source="facts", help_text="Summed up every ten seconds.")
    p95_ms = serializers.FloatField(allow_null=True, help_text="Of runs of the last hour, to within a factor of √2.")
    health = serializers.ChoiceField(HEALTHS)
    reason = serializers.CharField(allow_blank=True)


class CountsAnswer(serializers.Serializer[Any]):
    """Jobs that may still run or be replayed, by state."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        ended = (JobState.COMPLETED, JobState.CANCELLED)
        return {state.value: serializers.IntegerField() for state in JobState if state not in ended}


class StatsAnswer(serializers.Serializer[Any]):
    queue = serializers.UUIDField()
    counts = CountsAnswer()
    oldest_ready_seconds = serializers.FloatField(allow_null=True)
    last_hour = HourAnswer()


class MinuteAnswer(serializers.Serializer[Any]):
    minute = serializers.DateTimeField(help_text="Its beginning.")
    completed = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Attempts.")
    dead_lettered = serializers.IntegerField()
    lost = serializers.IntegerField()
    wait_p50_ms = serializers.FloatField(allow_null=True)
    wait_p95_ms = serializers.FloatField(allow_null=True)
    wait_p99_ms = serializers.FloatField(allow_null=True)
    run_p50_ms = serializers.FloatField(allow_null=True)
    run_p95_ms = serializers.FloatField(allow_null=True)
    run_p99_ms = serializers.FloatField(allow_null=True)


class SeriesAnswer(serializers.Serializer[Any]):
    queue = serializers.UUIDField()
    minutes = MinuteAnswer(many=True)
