"""What a scheduler does for accounts again and again."""

from apps.accounts.engine.prune import prune
from apps.handlers import Loop


def forget_keys() -> None:
    """Forget Idempotency-Keys that are past their time."""
    prune()


LOOPS = [Loop("idempotency-keys", forget_keys, seconds=60)]
