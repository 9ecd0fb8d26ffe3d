"""The runbook names every loop a scheduler runs, and none that it does not."""

import re
from pathlib import Path

from apps.runtime.services import discover

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"


def test_the_table_of_loops_is_the_schedulers():
    table = RUNBOOK.read_text().split("## Loops of the scheduler", 1)[1].split("\n\n", 2)[1]
    named = {name for row in re.findall(r"^\| ([a-z, -]+) \|", table, re.MULTILINE) for name in row.split(", ")}
    assert named - {"loop"} == {loop.name for loop in discover.loops()}
