"""Open gates that are new: count what already runs behind them."""

from uuid import UUID

from apps.jobs.engine.ready import NOWHERE
from apps.sql import Statement, Steps, Verb

_hold = Statement.beside(__file__, lambda queue_id: queue_id)
_count = Statement.beside(__file__, bool, "open_gates_count")


def open_gates_steps(*, after: UUID = NOWHERE) -> Steps[tuple[UUID, bool] | None]:
    """Try the first gate after this queue that is to be opened: which it was, and whether it is open now."""
    rows = yield from _hold.ask(after=after)
    if not rows:
        return None
    [opened] = yield from _count.ask(queue_id=rows[0])
    return rows[0], opened


open_gates = Verb(open_gates_steps)
