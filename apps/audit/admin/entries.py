"""The audit trail: newest first, found by what it is about."""

import json
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.audit.admin.console import Window
from apps.audit.models import Entry


@admin.register(Entry)
class EntryConsole(Window):
    list_display = ("at", "actor", "did", "target_type", "target_id", "address", "request_id")
    ordering = ("-id",)
    search_fields = ("target_id",)
    search_help_text = "The id of what was changed, or of an organization"
    fields = ("at", "actor", "did", "target_type", "target_id", "organization_id", "address", "request_id", "diff")
    readonly_fields = fields

    @display(description="Did", label=True)
    def did(self, entry: Entry) -> str:
        return entry.action

    @display(description="Before and after")
    def diff(self, entry: Entry) -> SafeString:
        before, after = (
            json.dumps(facts, indent=2, ensure_ascii=False, sort_keys=True) if facts else "–"
            for facts in (entry.before, entry.after)
        )
        return format_html('<pre class="whitespace-pre-wrap">{}\n\n→\n\n{}</pre>', before, after)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By the two indexes there are."""
        term = search_term.strip()
        if not term:
            return queryset, False
        about = queryset.filter(target_id=term)
        try:
            organization = UUID(term)
        except ValueError:
            return about, False
        if Entry.objects.filter(organization_id=organization).exists():
            return queryset.filter(organization_id=organization), False
        return about, False
