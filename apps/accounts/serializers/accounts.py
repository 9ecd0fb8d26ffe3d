"""Bodies and answers: people, organizations, members, projects."""

from typing import Any

from rest_framework import serializers

from apps.accounts.models import Role
from apps.accounts.serializers.fields import Body, Email, Pick, Slug, Text

NAME_MAX = 128
PASSWORD_MAX = 1024  # hashing longer ones would only cost


class Register(Body):
    email = Email()
    password = Text(max_length=PASSWORD_MAX)
    name = Text(max_length=NAME_MAX, required=False, allow_blank=True)


class Login(Body):
    email = Text(max_length=254)
    password = Text(max_length=PASSWORD_MAX)
    code = Text(max_length=16, required=False, help_text="Of the second factor, from who has one; or a recovery code.")


class Logout(Body):
    """Nothing need be said."""


class Password(Body):
    current_password = Text(max_length=PASSWORD_MAX)
    new_password = Text(max_length=PASSWORD_MAX)


class NewOrganization(Body):
    name = Text(max_length=NAME_MAX)
    slug = Slug(required=False, help_text="Made from the name if absent.")


class ChangeOrganization(Body):
    name = Text(max_length=NAME_MAX, required=False)


class NewMember(Body):
    email = Text(max_length=254)
    role = Pick(Role.choices)


class ChangeMember(Body):
    role = Pick(Role.choices)


class NewProject(Body):
    name = Text(max_length=NAME_MAX)
    slug = Slug(required=False, help_text="Made from the name if absent.")
    hide_payloads_below = Pick(Role.choices, required=False, help_text="The least role that sees payloads and results.")


class ChangeProject(Body):
    name = Text(max_length=NAME_MAX, required=False)
    hide_payloads_below = Pick(Role.choices, required=False)


class UserAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    name = serializers.CharField()


class LoginAnswer(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="Shown once; send it as `Authorization: Bearer`.")
    user_id = serializers.UUIDField()
    issued_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class RegisterAnswer(serializers.Serializer[Any]):
    user = UserAnswer()
    token = LoginAnswer(allow_null=True, help_text="null while the address must first be confirmed by mail.")


class MembershipAnswer(serializers.Serializer[Any]):
    organization = serializers.UUIDField(source="organization_id")
    slug = serializers.CharField(source="organization.slug")
    role = serializers.ChoiceField(Role.choices)


class MeAnswer(UserAnswer):
    memberships = MembershipAnswer(many=True)
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="null: all of the role's.")


class OrganizationAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    slug = serializers.CharField()
    role = serializers.ChoiceField(Role.choices, help_text="Yours.")
    created_at = serializers.DateTimeField()


class MemberAnswer(serializers.Serializer[Any]):
    user_id = serializers.UUIDField()
    email = serializers.EmailField(source="user.email")
    name = serializers.CharField(source="user.name")
    role = serializers.ChoiceField(Role.choices)
    created_at = serializers.DateTimeField()


class ProjectAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    organization = serializers.UUIDField(source="organization_id")
    name = serializers.CharField()
    slug = serializers.CharField()
    hide_payloads_below = serializers.ChoiceField(Role.choices)
    created_at = serializers.DateTimeField()


def page_of(answer: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """A page of such answers, as the document names it."""
    fields = {
        "__doc__": None,
        "__module__": answer.__module__,
        "results": answer(many=True),
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
    }
    return type(f"{answer.__name__.removesuffix('Answer')}Page", (serializers.Serializer,), fields)
