"""Draw docs/openapi.yaml, docs/api.md and docs/roles.md."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.accounts.api import drawing


class Command(BaseCommand):
    help = "Draw the pages of docs/ that tell of the API."

    def handle(self, **options: Any) -> str:
        pages = {"openapi.yaml": drawing.openapi(), "api.md": drawing.api(), "roles.md": drawing.roles()}
        for name, text in pages.items():
            (settings.BASE_DIR / "docs" / name).write_text(text)
        return f"Drew {', '.join(pages)}."
