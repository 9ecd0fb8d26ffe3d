"""manage.py chaos: a whole site under faults, and then the question whether its story is true."""

from apps.bench.services.chaos import troubles
from apps.bench.services.chaos.faults import FAULTS, Fault
from apps.bench.services.chaos.run import chaos

__all__ = ["FAULTS", "Fault", "chaos", "troubles"]
