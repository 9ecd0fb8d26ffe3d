"""The lock files: made from pyproject.toml, hashed, and free of hosts."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = PROJECT["project"]["dependencies"]
ALL = [*RUNTIME, *PROJECT["project"]["optional-dependencies"]["demo"], *PROJECT["dependency-groups"]["dev"]]


def pins(file: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / file).read_text(), re.M))


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=! ]", requirement)[0].lower()


@pytest.mark.parametrize(("file", "wanted"), [("requirements.lock", RUNTIME), ("requirements-dev.lock", ALL)])
def test_every_requirement_is_pinned(file, wanted):
    assert {name_of(requirement) for requirement in wanted} <= pins(file).keys()


def test_the_dev_lock_holds_what_production_runs():
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_is_hashed_and_names_no_host(file):
    text = (ROOT / file).read_text()
    assert text.count("--hash=sha256:") >= len(pins(file))
    assert "://" not in text
    assert "--index" not in text
