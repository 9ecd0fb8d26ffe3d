"""What can be drawn from the code is drawn from the code."""

from pathlib import Path

import pytest

from apps.bench.services.diagram import pages, schema, states
from apps.jobs.states import MOVES, JobState

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", pages())
def test_the_page_is_current(page):
    assert (DOCS / page).read_text() == pages()[page], "run: make diagram"


def test_every_move_is_an_arrow():
    assert states().count("-->") == len(MOVES) + len(JobState.choices) - 7


def test_every_table_has_a_section():
    assert "### jobs_job\n" in schema()
    assert "queues_queue ||--o{ jobs_schedule : queue" in schema()
