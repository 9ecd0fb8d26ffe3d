"""Parameters and answers: the audit trail."""

from typing import Any

from rest_framework import serializers

from apps.accounts.serializers.fields import Moment, Pick, Query, Text

FORMATS = ("csv", "jsonl")


class AuditQuery(Query):
    actor = Text(max_length=320, required=False, help_text="An address, a command, or system.")
    action = Text(max_length=64, required=False, help_text="queue.pause, or queue for all that was done to queues.")
    target = Text(max_length=64, required=False, help_text="The id of what it was done to.")
    since = Moment(required=False)
    until = Moment(required=False)


class ExportQuery(AuditQuery):
    format = Pick(FORMATS, required=False, help_text="csv, unless said.")


class EntryAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="As they were called then.")
    user_id = serializers.UUIDField(allow_null=True)
    token_id = serializers.UUIDField(allow_null=True)
    action = serializers.CharField()
    target_type = serializers.CharField()
    target_id = serializers.CharField()
    before = serializers.JSONField()
    after = serializers.JSONField()
    address = serializers.CharField(allow_null=True)
    request_id = serializers.CharField()
