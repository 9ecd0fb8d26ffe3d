"""Ctrl-C, wherever it is heard."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RAISE = """
import signal, time, weakref
import manage


class Thing:
    def __del__(self):
        if {destructor}:
            signal.raise_signal(signal.SIGINT)


def main():
    thing = Thing()
    watch = weakref.ref(thing, lambda _: {destructor} or signal.raise_signal(signal.SIGINT))
    del thing
    time.sleep(20)


manage.main = main
manage.run()
"""


@pytest.mark.parametrize("destructor", [True, False])
def test_it_ends_a_command_even_where_python_would_drop_it(destructor):
    done = subprocess.run(
        [sys.executable, "-c", RAISE.format(destructor=destructor)],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == ""


def test_other_faults_in_a_destructor_are_still_shown():
    code = RAISE.format(destructor=True).replace("signal.raise_signal(signal.SIGINT)", "1 / 0").replace("20", "0")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ZeroDivisionError" in done.stderr
