"""Every .sql file is legal here: PostgreSQL can plan it, it writes its own tables and looks only down."""

import re
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from apps.jobs.states import MOVES, JobState, OnParentFailure, Outcome, Reason, TickOutcome
from apps.queues.states import SummaryState
from apps.workers.models import ReservationState
from tests.architecture.sql_files import (
    APPS,
    EVERYBODY_MAY_WRITE,
    FILES,
    MAY_WRITE,
    ORDER,
    app_of,
    explain,
    literals,
    name_of,
    tables,
    tokens,
    written,
)

ENGINE = APPS / "jobs" / "engine"


@pytest.fixture(params=FILES, ids=name_of)
def sql_file(request) -> Path:
    return request.param  # type: ignore[no-any-return]


def modules(sql_file: Path) -> list[Path]:
    """The modules a statement may belong to: those whose name it starts with."""
    return [
        path
        for path in sql_file.parent.glob("*.py")
        if sql_file.stem == path.stem or sql_file.stem.startswith(f"{path.stem}_")
    ]


def test_there_are_files_to_look_at():
    assert len(FILES) > 20


def test_it_stands_beside_the_module_that_runs_it(sql_file):
    found = modules(sql_file)
    assert found
    # It is loaded by its own name; or, one of a family, by a name that the module puts together.
    named = f'"{sql_file.stem}"'
    assert any(
        sql_file.stem == path.stem or named in path.read_text() or f'f"{path.stem}_' in path.read_text()
        for path in sql_file.parent.glob("*.py")
    )


def test_it_opens_with_a_comment_that_says_what_for(sql_file):
    assert re.match(r"-- \w.{10,}", sql_file.read_text())


def test_it_is_one_statement(sql_file):
    assert tokens(sql_file.read_text()).count(";") <= 1


def test_it_asks_the_clock_of_the_moment(sql_file):
    """Not the transaction's: a claim that waited must not start in the past."""
    words = [token.lower() for token in tokens(sql_file.read_text())]
    assert not {"current_timestamp", "current_date"} & {*words}
    assert ("now", "(") not in set(pairwise(words))


@pytest.mark.django_db
def test_postgres_can_plan_it_and_it_writes_only_what_it_may(sql_file):
    app = app_of(sql_file)
    for table in written(explain(sql_file.read_text())):
        assert table.startswith(f"{app}_") or table in MAY_WRITE[app] | EVERYBODY_MAY_WRITE


def test_it_looks_only_down(sql_file):
    below = ORDER[ORDER.index(app_of(sql_file)) :]
    above = {table for table in tables(sql_file.read_text()) if table.partition("_")[0] not in below}
    assert above - EVERYBODY_MAY_WRITE == set()


def test_it_names_only_known_words(sql_file):
    text = sql_file.read_text()
    known = {*JobState.values, *ReservationState.values, *SummaryState.values}
    assert literals("state", text) | literals("resume_state", text) <= known
    assert literals("outcome", text) <= set(Outcome.values) | set(TickOutcome.values)
    assert literals("reason", text) <= set(Reason.values)
    assert literals("on_parent_failure", text) <= set(OnParentFailure.values)


def test_every_move_is_made_by_a_verb_of_the_engine():
    verbs = {verb for named in MOVES.values() for verb in named}
    assert verbs <= {path.stem for path in ENGINE.glob("*.py")}


# The tests above must be able to fail. Each of these plants what they are there to find.


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM accounts_user",
        "WITH gone AS (DELETE FROM accounts_user RETURNING id) SELECT count(*) FROM gone",
        "WITH a AS (SELECT 1), gone AS (\n    UPDATE accounts_user SET name = '' RETURNING id) SELECT 1",
        "INSERT INTO accounts_user SELECT * FROM accounts_user",
    ],
)
def test_a_write_is_found_wherever_it_stands(text):
    assert written(explain(text)) == {"accounts_user"}


@pytest.mark.django_db
def test_a_column_that_does_not_exist_is_found():
    with pytest.raises(psycopg.errors.UndefinedColumn):
        explain("SELECT job.no_such_column FROM jobs_job AS job WHERE job.id = %(id)s::uuid")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("WHERE job.state = 'fluffy'", {"fluffy"}),
        ("WHERE job.state NOT IN ('fluffy', 'odd')", {"fluffy", "odd"}),
        ("SET state = CASE WHEN a = 'x' THEN 'fluffy' WHEN CASE b WHEN 1 THEN true END THEN c ELSE 'odd' END", None),
        ("SELECT CASE WHEN outcome = 'x' THEN 'fluffy' ELSE 'odd' END AS state", {"fluffy", "odd"}),
        ("-- state = 'told'\nSELECT 'fluffy' AS state", {"fluffy"}),
    ],
)
def test_a_state_is_found_wherever_it_stands(text, found):
    assert literals("state", text) == (found or {"fluffy", "odd"})


def test_a_table_is_found_but_not_in_a_comment():
    assert tables("-- audit_entry\nSELECT FROM jobs_job_live AS job, events_webhook") == {
        "jobs_job_live",
        "events_webhook",
    }
