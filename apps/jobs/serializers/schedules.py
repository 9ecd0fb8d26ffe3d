"""Bodies and answers of schedules and their ticks. docs/schedules.md says what the fields do."""

from typing import Any

from rest_framework import serializers

from apps.accounts.serializers.fields import Body, Count, Json, Pick, Query, Text, Whole
from apps.jobs.models.schedules import CATCHUP_MAX, SECONDS_MAX
from apps.jobs.states import CatchUp, Overlap, TickOutcome

NAME_MAX = 128
PREVIEW_MAX = 100


class ScheduleFields(Body):
    """What may be said of a schedule, when it is made and later."""

    timezone = Text(max_length=64, required=False, help_text="An IANA name; UTC unless said.")
    payload = Json(required=False, help_text="Of each job; any JSON, at most PAYLOAD_MAX_BYTES.")
    priority = Whole(
        min_value=-1000, max_value=1000, required=False, allow_null=True, help_text="null: the queue's default."
    )
    overlap_policy = Pick(
        Overlap.choices, required=False, help_text="While the job of the tick before has not ended; skip unless said."
    )
    catchup_policy = Pick(
        CatchUp.choices, required=False, help_text="For ticks no scheduler was there for; skip unless said."
    )
    catchup_max = Whole(
        min_value=1, max_value=CATCHUP_MAX, required=False, help_text="How many fire_all makes up for; 10 unless said."
    )
    jitter_seconds = Whole(
        min_value=0, max_value=SECONDS_MAX, required=False, help_text="A job is due up to so much after its tick."
    )
    deadline_seconds = Whole(
        min_value=1,
        max_value=SECONDS_MAX,
        required=False,
        allow_null=True,
        help_text="A tick without a successful job by then is told as `schedule.late`. null: never.",
    )


class NewSchedule(ScheduleFields):
    name = Text(max_length=NAME_MAX)
    cron_expr = Text(help_text="minute hour day-of-month month day-of-week; or @daily and the like.")
    job_type = Text(max_length=NAME_MAX)


class ChangeSchedule(ScheduleFields):
    name = Text(max_length=NAME_MAX, required=False)
    cron_expr = Text(required=False, help_text="Another one counts from now on; nothing fires for the change.")
    job_type = Text(max_length=NAME_MAX, required=False)


class PreviewQuery(Query):
    count = Count(min_value=1, max_value=PREVIEW_MAX, required=False, help_text="10 unless said.")
    timezone = Text(max_length=64, required=False, help_text="The reader's zone, an IANA name; UTC unless said.")


class HaltAnswer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)


class ScheduleAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    queue = serializers.UUIDField()
    name = serializers.CharField()
    cron_expr = serializers.CharField()
    timezone = serializers.CharField()
    job_type = serializers.CharField()
    payload = serializers.JSONField(allow_null=True)
    payload_hidden = serializers.BooleanField(help_text="The reader's role is too low for it.")
    priority = serializers.IntegerField(allow_null=True)
    overlap_policy = serializers.ChoiceField(Overlap.choices)
    catchup_policy = serializers.ChoiceField(CatchUp.choices)
    catchup_max = serializers.IntegerField()
    jitter_seconds = serializers.IntegerField()
    deadline_seconds = serializers.IntegerField(allow_null=True)
    next_run_at = serializers.DateTimeField(allow_null=True, help_text="null while it is paused or in trouble.")
    last_job = serializers.UUIDField(allow_null=True)
    paused = HaltAnswer(allow_null=True)
    trouble = serializers.CharField(allow_null=True, help_text="Why it fires no more; change or resume it.")
    created_at = serializers.DateTimeField()


class TickAnswer(serializers.Serializer[Any]):
    scheduled_for = serializers.DateTimeField()
    outcome = serializers.ChoiceField(TickOutcome.choices)
    why = serializers.CharField(allow_blank=True)
    fired_at = serializers.DateTimeField(allow_null=True)
    job = serializers.UUIDField(source="job_id", allow_null=True)
    deadline_at = serializers.DateTimeField(allow_null=True)
    late = serializers.BooleanField(allow_null=True, help_text="null: its deadline has not come, or it has none.")


class ComingAnswer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    local = serializers.CharField(help_text="The same moment in the schedule's zone.")
    viewer = serializers.CharField(help_text="The same moment in the reader's zone.")
    jitter_seconds = serializers.FloatField(help_text="Its job is due so much later.")


class PreviewAnswer(serializers.Serializer[Any]):
    timezone = serializers.CharField()
    viewer_timezone = serializers.CharField()
    results = ComingAnswer(many=True)
