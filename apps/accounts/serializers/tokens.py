"""Bodies and answers: tokens."""

from typing import Any

from rest_framework import serializers

from apps.accounts.selectors.callers import SCOPES
from apps.accounts.serializers.accounts import NAME_MAX
from apps.accounts.serializers.fields import Body, Id, Items, Moment, Pick, Text


class Rotate(Body):
    """Nothing need be said."""


class NewToken(Body):
    name = Text(max_length=NAME_MAX, help_text="What it is for.")
    scopes = Items(child=Pick(SCOPES), min_length=1, max_length=len(SCOPES))
    project = Id(required=False, allow_null=True, help_text="The only one it may reach; null: all.")
    expires_at = Moment(required=False, allow_null=True, help_text="null: never.")


class TokenAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    user_id = serializers.UUIDField(help_text="Who made it; their rights bound it.")
    email = serializers.EmailField(source="user.email")
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES))
    project = serializers.UUIDField(source="project_id", allow_null=True)
    hint = serializers.CharField(help_text="The last characters of its text.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    revoked_at = serializers.DateTimeField(allow_null=True)


class MadeTokenAnswer(TokenAnswer):
    token = serializers.CharField(help_text="Shown once; send it as `Authorization: Bearer`.")
