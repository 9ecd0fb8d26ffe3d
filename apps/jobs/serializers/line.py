"""What is answered about the line of a project."""

from typing import Any

from rest_framework import serializers

from apps.accounts.serializers.fields import Count, Query
from apps.jobs.serializers.answers import WORKER_STATES, JobAnswer

LIMIT_MAX = 200


class LineQuery(Query):
    limit = Count(min_value=1, max_value=LIMIT_MAX, required=False, help_text="Items of a section: 50 unless said.")


class LineItemAnswer(JobAnswer):
    """A job of its own, or the one that stands for its workflow: what runs, else what comes next."""

    workflow_name = serializers.CharField(allow_null=True)
    required_worker = serializers.CharField(allow_null=True, help_text="Where it, or its workflow, is to run.")
    assigned_worker = serializers.CharField(allow_null=True, help_text="Who took it, or its workflow, first.")
    paused = serializers.BooleanField(help_text="Itself, its workflow, its type or its queue.")
    attempts = serializers.IntegerField(source="attempt", help_text="Made so far.")
    waiting_seconds = serializers.FloatField(
        allow_null=True, help_text="Since it could have started; null: it does not."
    )
    retry_at = serializers.DateTimeField(allow_null=True)
    can_retry = serializers.BooleanField(help_text="POST /jobs/{id}/retry would end its wait.")


class LineSectionAnswer(serializers.Serializer[Any]):
    worker = serializers.CharField(source="uid")
    state = serializers.ChoiceField(WORKER_STATES)
    items = LineItemAnswer(many=True)
    more = serializers.BooleanField(help_text="There are more than these.")


class LineAnswer(serializers.Serializer[Any]):
    pending = LineItemAnswer(many=True)
    more = serializers.BooleanField(help_text="More is pending than this.")
    workers = LineSectionAnswer(many=True)
