"""What is answered about the failures of a queue."""

from typing import Any

from rest_framework import serializers

from apps.queues.states import SummaryState


class SampleAnswer(serializers.Serializer[Any]):
    """The newest attempt of a group: `GET /jobs/{job}` has its traceback."""

    job = serializers.UUIDField()
    attempt = serializers.IntegerField()


class FailureAnswer(serializers.Serializer[Any]):
    error_class = serializers.CharField(help_text="Or how the attempt ended, where its worker named no class.")
    top_frame = serializers.CharField(allow_null=True, help_text="null: its traceback names none.")
    count = serializers.IntegerField(help_text="Attempts.")
    jobs = serializers.IntegerField()
    distinct_messages = serializers.IntegerField()
    latest_message = serializers.CharField(allow_blank=True, help_text="At most 500 characters of it.")
    first_seen = serializers.DateTimeField(help_text="In the window.")
    last_seen = serializers.DateTimeField()
    sample = SampleAnswer(source="*")


class FailureSummaryAnswer(serializers.Serializer[Any]):
    queue = serializers.UUIDField()
    window_hours = serializers.IntegerField()
    failures = FailureAnswer(many=True)
    capped = serializers.BooleanField(
        help_text="There were more failures than are looked at: the newest 5,000 are counted."
    )
    computed_at = serializers.DateTimeField(allow_null=True, help_text="null: nobody has looked yet.")
    summary = serializers.CharField(allow_blank=True, help_text="Prose, written by a model; never more than a hint.")
    model = serializers.CharField(allow_null=True, help_text="Which model wrote it.")
    told_at = serializers.DateTimeField(allow_null=True, help_text="When it was written.")
    state = serializers.ChoiceField(SummaryState.choices)
