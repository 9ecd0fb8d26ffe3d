"""What a scheduler does again and again that leaves the house."""

from django.conf import settings

from apps.handlers import Loop
from apps.runtime.services import prose

PROSE_SECONDS = 60.0


def write_prose() -> float:
    """Have failures put into words, one queue after the other; after one that got no answer a pause."""
    if not settings.LLM_API_KEY:
        return PROSE_SECONDS
    return 0.0 if prose.write_one() else PROSE_SECONDS


LOOPS = [Loop("prose", write_prose, seconds=PROSE_SECONDS)]
