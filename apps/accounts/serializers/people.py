"""Bodies and answers: log-ins, and keys that came by mail."""

from typing import Any

from rest_framework import serializers

from apps.accounts.serializers.accounts import PASSWORD_MAX
from apps.accounts.serializers.fields import Body, Text

KEY_MAX = 256
WAYS = ["login", "page"]


class Reset(Body):
    email = Text(max_length=254)


class ConfirmReset(Body):
    key = Text(max_length=KEY_MAX)
    new_password = Text(max_length=PASSWORD_MAX)


class Verify(Body):
    key = Text(max_length=KEY_MAX)


class PlaceAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    way = serializers.ChoiceField(WAYS, help_text="A token of POST /auth/login, or a session of the pages.")
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    address = serializers.CharField(allow_null=True)
    client = serializers.CharField(help_text="What the browser calls itself.")
    current = serializers.BooleanField(help_text="The one that asks.")


class PlacesAnswer(serializers.Serializer[Any]):
    """On one page, the newest two hundred of each way."""

    results = PlaceAnswer(many=True)
    next = serializers.URLField(allow_null=True, help_text="Always null.")
    previous = serializers.URLField(allow_null=True, help_text="Always null.")
