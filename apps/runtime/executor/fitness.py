"""What must hold before a process may fork executors."""

import resource
import threading

from apps.errors import BadInput

DESCRIPTORS = 128  # the least limit executors are started with


def refuse_to_fork() -> None:
    """Raise BadInput when other threads of Python run, or an executor's descriptors would find no room."""
    _refuse_threads()
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < DESCRIPTORS:
        raise BadInput.at(
            "--processes",
            f"An executor needs a limit of {DESCRIPTORS} file descriptors or more, and it is {most} (ulimit -n).",
        )


def _refuse_threads() -> None:
    names = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
    if names:
        raise BadInput.at(
            "--processes",
            f"Importing the handlers has started threads ({', '.join(names)}), and a fork would copy their locks as they "
            "stand. Start them inside the handlers, or run with --processes 0.",
        )
