"""What a job said of its progress after the last heartbeat is kept as it ends: nine of nine, not seven."""

from collections.abc import Sequence
from uuid import UUID

from apps.jobs.engine.heartbeat import Told
from apps.sql import Statement, Steps, Verb

_last_word = Statement.beside(__file__, lambda job_id: job_id)


def last_word_steps(*, session_id: UUID, told: Sequence[tuple[int, Told]]) -> Steps[list[UUID]]:
    """Keep the progress of attempts (fence, what was said) that this session holds; answers whose was kept."""
    return (
        yield from _last_word.ask(
            session_id=session_id,
            ids=[one.job_id for _, one in told],
            fences=[fence for fence, _ in told],
            stages=[one.stage for _, one in told],
            dones=[one.done for _, one in told],
            totals=[one.total for _, one in told],
            notes=[one.note for _, one in told],
        )
    )


last_word = Verb(last_word_steps)
