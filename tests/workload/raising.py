"""Handlers that raise or answer what no handler should."""

import asyncio
from collections.abc import Callable
from typing import Any

from apps.handlers import Context, Publish, Result, Retry, handler


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class Demanding(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__()


def _chain(length: int) -> BaseException:
    error: BaseException = ValueError("the first")
    for number in range(length):
        later = ValueError(f"number {number}")
        later.__cause__ = error
        error = later
    return error


def _circle() -> BaseException:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def _deep(left: int) -> int:
    return _deep(left - 1) + 1


def _holding() -> BaseException:
    error = ValueError("heavy")
    error.heavy = bytearray(100_000_000)  # type: ignore[attr-defined]
    return error


class _LyingText(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise ZeroDivisionError


class Lying(Exception):
    def __str__(self) -> str:
        return _LyingText("a text that lies about its length")


class _Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise ZeroDivisionError


class Nameless(Exception, metaclass=_Nameless):
    pass


class Masked(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise ZeroDivisionError


class Careless(Retry):
    def __init__(self) -> None:
        """Without Retry's own."""


RAISED = {
    "unprintable": Unprintable,
    "demanding": lambda: Demanding(1, 2),
    "exit 0": lambda: SystemExit(0),
    "exit 3": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit,
    "cancelled": asyncio.CancelledError,
    "base": BaseException,
    "stop": lambda: StopIteration("stopped"),
    "text": lambda: "a text",
    "none": lambda: None,
    "group": lambda: ExceptionGroup("many", [ValueError(str(number)) for number in range(10_000)]),
    "chain": lambda: _chain(5_000),
    "circle": _circle,
    "deep": lambda: _deep(100_000),
    "long": lambda: ValueError("x" * 50_000_000),
    "heavy": _holding,
    "nul": lambda: ValueError("a\x00b\ud800c"),
    "lines": lambda: ValueError("line\n" * 5_000_000),
    "lying": Lying,
    "nameless": Nameless,
    "masked": Masked,
    "careless": Careless,
}


class _Trap(dict[str, int]):
    def items(self) -> Any:
        raise SystemExit(3)


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def _in_itself() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


ANSWERED: dict[str, Callable[[], Any]] = {
    "trap": lambda: _Trap(a=1),
    "set": lambda: {1},
    "nan": lambda: float("nan"),
    "deep": lambda: _nested(100_000),
    "large": lambda: "x" * 10_000_000,
    "circle": _in_itself,
    "object": object,
    "follow-up": lambda: Result(1, next_jobs=[Publish("noop", fields={"colour": "red"})]),
}


@handler("answer.badly")
def answer_badly(ctx: Context, payload: Any) -> Any:
    return ANSWERED[payload]()


@handler("answer.badly.patient")
async def answer_badly_as_a_task(ctx: Context, payload: Any) -> Any:
    return ANSWERED[payload]()


@handler("raise")
def fail_badly(ctx: Context, payload: Any) -> None:
    raise RAISED[payload]()  # type: ignore[operator]


@handler("raise.patient")
async def fail_badly_as_a_task(ctx: Context, payload: Any) -> None:
    await asyncio.sleep(0)
    raise RAISED[payload]()  # type: ignore[operator]


@handler("raise.heavily")
def raise_heavily(ctx: Context, payload: Any) -> None:
    held = bytearray(payload << 20)
    raise ValueError(len(held))


@handler("raise.heavily.patient")
async def raise_heavily_as_a_task(ctx: Context, payload: Any) -> None:
    held = bytearray(payload << 20)
    raise ValueError(len(held))
