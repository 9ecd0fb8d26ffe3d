"""Where the endpoints of accounts stand, below /api/v1/."""

from django.urls import path

from apps.accounts.api import audit, organizations, people, recovery, sessions, tokens
from apps.accounts.api.document import Document, Redoc, Swagger

urlpatterns = [
    people.Register.at("auth/register"),
    people.Login.at("auth/login"),
    people.Logout.at("auth/logout"),
    people.Me.at("auth/me"),
    people.Password.at("auth/password"),
    recovery.Reset.at("auth/password/reset"),
    recovery.Confirm.at("auth/password/reset/confirm"),
    recovery.Verify.at("auth/verify"),
    sessions.Sessions.at("auth/sessions"),
    sessions.OneSession.at("auth/sessions/<uuid:login>"),
    organizations.Organizations.at("orgs"),
    organizations.Members.at("orgs/<uuid:org>/members"),
    organizations.OneMember.at("orgs/<uuid:org>/members/<uuid:user>"),
    audit.Audit.at("orgs/<uuid:org>/audit"),
    audit.Export.at("orgs/<uuid:org>/audit/export"),
    tokens.Tokens.at("orgs/<uuid:org>/tokens"),
    tokens.OneToken.at("tokens/<uuid:token>"),
    tokens.RotateToken.at("tokens/<uuid:token>/rotate"),
    organizations.Projects.at("orgs/<uuid:org>/projects"),
    path("schema", Document.as_view(), name="schema"),
    path("schema/swagger", Swagger.as_view(), name="schema-swagger"),
    path("schema/redoc", Redoc.as_view(), name="schema-redoc"),
]
