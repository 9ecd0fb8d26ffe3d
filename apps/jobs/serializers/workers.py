"""What is answered about one worker."""

from typing import Any

from rest_framework import serializers

from apps.jobs.serializers.answers import WorkerAnswer


class HeldAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    queue = serializers.UUIDField(source="queue_id")
    type = serializers.CharField()
    started_at = serializers.DateTimeField()
    attempt = serializers.IntegerField()


class OneWorkerAnswer(WorkerAnswer):
    drained = serializers.BooleanField(help_text="Whether somebody has taken it out of service.")
    queues = serializers.ListField(child=serializers.UUIDField(), help_text="Yours that it serves.")
    jobs = HeldAnswer(many=True, help_text="Yours that it runs, 200 at most.")
