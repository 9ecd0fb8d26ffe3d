"""Take an Idempotency-Key, in the transaction that does what the key stands for."""

from uuid import UUID

from apps.sql import Statement

_take_key = Statement.beside(__file__, bool)


def take_key(
    *,
    scope_id: UUID,
    endpoint: str,
    key: str,
    request_hash: bytes,
    ids: list[UUID] | None,
    hours: int,
    patience_ms: int,
) -> bool:
    """Hold a key until the transaction ends and, if it commits, for `hours`; False if another request has it.

    While that other one still runs, waits `patience_ms` and then raises LockNotAvailable (55P03).
    """
    taken = _take_key(
        scope_id=scope_id,
        endpoint=endpoint,
        key=key,
        request_hash=request_hash,
        ids=ids,
        hours=hours,
        patience=f"{patience_ms}ms",
    )
    return bool(taken)
