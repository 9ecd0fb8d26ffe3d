"""What a remote worker is told."""

from typing import Any

from rest_framework import serializers

FENCE = "A number, sent as text: it passes 2^53."


class SessionAnswer(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    uid = serializers.CharField()
    organization = serializers.UUIDField()
    queues = serializers.ListField(child=serializers.UUIDField())
    types = serializers.ListField(child=serializers.CharField())
    concurrency = serializers.IntegerField()
    lease_seconds = serializers.FloatField()
    heartbeat_seconds = serializers.FloatField(help_text="How often to send one.")
    fenced = serializers.IntegerField(help_text="Earlier sessions of this worker that ended with this.")


class WorkAnswer(serializers.Serializer[Any]):
    """One attempt to run."""

    job = serializers.UUIDField(source="job_id")
    fence = serializers.CharField(help_text=FENCE)
    queue = serializers.UUIDField(source="queue_id")
    type = serializers.CharField()
    payload = serializers.JSONField()
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    generation = serializers.IntegerField(help_text="Grows with each replay.")
    losses = serializers.IntegerField(help_text="Attempts whose worker was lost.")
    idempotency_key = serializers.CharField(help_text="The same for all attempts of one generation.")
    deadline_at = serializers.DateTimeField()
    limit_ms = serializers.IntegerField(help_text="Until the deadline, by the clock of the database.")
    approved = serializers.JSONField(help_text="What a person said: note, and the result it had asked with.")
    workflow = serializers.UUIDField(source="workflow_id", allow_null=True)
    request_id = serializers.CharField(allow_null=True)


class ClaimedAnswer(serializers.Serializer[Any]):
    jobs = WorkAnswer(many=True)
    drain = serializers.BooleanField(help_text="It is to claim no more; finish what runs.")


class PairAnswer(serializers.Serializer[Any]):
    job = serializers.UUIDField()
    fence = serializers.CharField(help_text=FENCE)


class BeatAnswer(serializers.Serializer[Any]):
    cancel = PairAnswer(many=True, help_text="To be stopped, and reported as cancelled.")
    lost = PairAnswer(many=True, help_text="No longer its own: stop, and report nothing.")
    unknown = PairAnswer(
        many=True, help_text="Claimed for it and not named as held: the answer to a claim was lost. Release them."
    )
    drain = serializers.BooleanField()


class FencedAnswer(serializers.Serializer[Any]):
    fenced = PairAnswer(many=True, help_text="Had moved on: these reports changed nothing.")
