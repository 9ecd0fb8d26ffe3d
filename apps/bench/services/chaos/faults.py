"""Every fault there is, by name."""

from apps.bench.services.chaos import accidents, troubles
from apps.bench.services.chaos.registry import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "accidents", "troubles"]
