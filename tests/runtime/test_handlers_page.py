"""docs/handlers.md: its code runs, and its tables name what there is."""

import re
from pathlib import Path

import pytest

from apps import handlers
from apps.handlers import Context
from apps.runtime import handlers as ours
from apps.runtime.outbound import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "handlers.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(autouse=True)
def _registry_of_its_own(monkeypatch):
    """The demo, which other tests import, has handlers of the same names."""
    monkeypatch.setattr(handlers, "_registry", {})


def test_there_is_code_on_the_page():
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("code", BLOCKS)
def test_its_code_runs(code):
    exec(compile(code, "docs/handlers.md", "exec"), {"__name__": "page"})  # noqa: S102 - our own page


def test_its_first_handler_does_what_it_says():
    exec(compile(BLOCKS[0], "docs/handlers.md", "exec"), {"__name__": "page"})  # noqa: S102 - our own page
    entry = handlers.find("report.build")
    assert entry is not None
    saved = {}

    class Ctx:
        cancelled = False
        progress = log = staticmethod(lambda *args, **more: None)

        def save(self, name: str, file: bytes) -> str:
            saved[name] = file
            return f"/files/{name}"

    assert entry.call(Ctx(), {"rows": [1, 2]}) == {"rows": 2, "report": "/files/report.txt"}
    assert saved == {"report.txt": b"1\n2"}


def test_it_names_every_part_of_the_context():
    parts = set(Context.__annotations__) | {name for name in vars(Context) if not name.startswith("_")}
    assert [name for name in sorted(parts - {"payload"}) if not re.search(rf"`{name}\b", PAGE)] == []


def test_it_names_the_types_that_are_always_there_and_the_methods():
    for name in ("noop", "echo", "sleep", "fail", "http.request"):
        assert f"| `{name}` |" in PAGE
    assert ", ".join(sorted(METHODS)) in PAGE
    assert f"up to {ours.TIMEOUT_MAX:.0f}" in PAGE
