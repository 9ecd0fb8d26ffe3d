"""The door that holds open the claims of remote workers: hundreds of them in one process (docs/decisions/0030)."""

from apps.runtime.consumers.door import door

__all__ = ["door"]
