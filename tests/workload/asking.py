"""Handlers that ask a person before they go on."""

from typing import Any

from apps.handlers import Context, NeedsApproval, handler


class Silent(NeedsApproval):
    """Its own constructor calls nobody's."""

    def __init__(self) -> None:
        pass


def _go_on(ctx: Context, payload: Any) -> Any:
    if ctx.approved:
        return {"draft": ctx.result, "note": ctx.approval_note, "attempt": ctx.attempt}
    assert ctx.result is None
    assert ctx.approval_note == ""
    ctx.enqueue("noop", "made by who only asks")
    if payload == "silent":
        raise Silent
    raise NeedsApproval({"draft": object()} if payload == "no json" else payload, "Please look.")


@handler("ask")
def ask(ctx: Context, payload: Any) -> Any:
    return _go_on(ctx, payload)


@handler("ask.async", retry_on=(TimeoutError,))
async def ask_async(ctx: Context, payload: Any) -> Any:
    return _go_on(ctx, payload)


@handler("ask.class", discard_on=(Exception,))
class Ask:
    def process(self, job: Context) -> Any:
        return _go_on(job, job.payload)
