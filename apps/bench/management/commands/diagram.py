"""Draw the pages of docs/ that follow from the code."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.bench.services.diagram import pages


class Command(BaseCommand):
    help = "Draw docs/states.md and docs/schema.md from the code."

    def handle(self, **options: Any) -> str:
        for name, text in pages().items():
            (Path(settings.BASE_DIR) / "docs" / name).write_text(text)
        return f"drawn: {', '.join(pages())}"
