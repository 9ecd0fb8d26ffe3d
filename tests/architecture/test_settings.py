"""No setting without a row in docs/settings.md, a line in .env.example and a comment."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "config" / "settings.py").read_text()
OWN = SETTINGS.partition("# --- Fencepost's own")[2]
READ = sorted(set(re.findall(r"\benv\.\w+\(\s*\"([A-Z_]+)\"", SETTINGS)))


def test_the_own_section_is_found():
    assert "LEASE_SECONDS" in OWN
    assert {"DATABASE_URL", "LEASE_SECONDS", "LOG_FORMAT"} <= set(READ)


@pytest.mark.parametrize("name", READ)
def test_every_setting_has_a_row_in_the_docs(name):
    assert re.search(rf"^\| (\*\*)?`{name}`(\*\*)? \|", (ROOT / "docs" / "settings.md").read_text(), re.M)


@pytest.mark.parametrize("name", READ)
def test_every_setting_stands_in_the_example(name):
    assert re.search(rf"^# {name}=", (ROOT / ".env.example").read_text(), re.M)


@pytest.mark.parametrize(
    "name", re.findall(r"^\| (?:\*\*)?`([A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.M)
)
def test_the_docs_name_nothing_that_is_not_read(name):
    assert name in READ


@pytest.mark.parametrize("line", [line for line in OWN.splitlines() if " = env." in line])
def test_every_own_setting_is_one_line_with_a_comment(line):
    assert "  # " in line


@pytest.mark.parametrize("path", ["docs/settings.md", "apps/audit/checks.py"])
def test_the_ids_of_checks_are_the_same_in_docs_and_code(path):
    ids = set(re.findall(r"E0\d\d", (ROOT / path).read_text()))
    assert ids == {f"E{number:03}" for number in range(1, 15)}
