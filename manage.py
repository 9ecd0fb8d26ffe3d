#!/usr/bin/env python
"""The command line: python manage.py help."""

import os
import signal
import sys

# These look at the code only, so lint and a first look need no database.
WITHOUT_DATABASE = {
    "chaos",  # makes a server of its own
    "check",
    "collectstatic",
    "diagram",
    "findstatic",
    "help",
    "makemigrations",
    "spectacular",
    "version",
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    from config import embedded

    if needs_database(sys.argv):
        embedded.ensure()
    execute_from_command_line(sys.argv)


def run() -> None:
    """Ctrl-C is an answer, not a fault: no command shows a stack for it."""
    sys.unraisablehook = again
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)


def again(dropped: "sys.UnraisableHookArgs") -> None:
    """Python drops a Ctrl-C that it raised in a destructor or a weak reference's callback: it is sent once more.

    A moment later, for one that is raised in here is dropped too; by a timer, for a thread must not be there at a fork.
    """
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(dropped)


def needs_database(argv: list[str]) -> bool:
    command = argv[1] if len(argv) > 1 else "help"
    asks_help = bool({"--help", "-h", "--version"}.intersection(argv))
    return not asks_help and ("--database" in argv or command not in WITHOUT_DATABASE)


if __name__ == "__main__":
    run()
