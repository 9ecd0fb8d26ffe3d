"""A job that waits for its time runs now."""

from uuid import UUID

from apps.sql import Statement, Steps, Verb

_retry_now = Statement.beside(__file__, lambda queue_id: queue_id)


def retry_now_steps(*, job_id: UUID) -> Steps[UUID | None]:
    """Queue a scheduled or waiting job at once; answers its queue, or None when it is in another state.

    One whose handler asked for approval runs again from the start: what it had so far is thrown away.
    """
    rows: list[UUID] = yield from _retry_now.ask(job_id=job_id)
    return rows[0] if rows else None


retry_now = Verb(retry_now_steps)
