"""What tells a worker to stop, from its first line on: a signal that comes while it starts is not lost."""

import asyncio
import faulthandler
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # the last: its terminal was closed


@contextmanager
def heard() -> Iterator[list[int]]:
    """Note signals instead of obeying them; `obey` catches up. In a thread of a test there are none.

    USR1 has every thread's stack written to stderr: where does it hang?
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number, known in before.items():
        if known is not signal.SIG_IGN:  # nohup has said so
            signal.signal(number, lambda heard, _frame: noted.append(heard))
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    try:
        yield noted
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def obey(noted: list[int], stop: Callable[[], None]) -> None:
    """From now on each of these signals calls `stop` in the running event loop, and so do those noted before."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop)
    for _ in noted:
        stop()
