"""Whatever a caller sends, one event is one line of the log, and who reads it at a terminal sees it as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOSTILE = "/a\nforged [info] all is well\r\x1b[2J\x1b]0;owned\x07\x00\u202e\u2028\x85b"
SCRIPT = """
import json, logging.config, sys, structlog, config.settings
logging.config.dictConfig(config.settings.LOGGING)
evil = json.loads(sys.argv[1])
structlog.get_logger("x").warning(evil, type=evil, labels={evil: [evil]})
logging.getLogger("django.request").warning("Not Found: %s", evil)
logging.getLogger("uvicorn.error").warning("started", extra={"color_message": evil})
try: raise ValueError(evil)
except ValueError: structlog.get_logger("x").exception("failed", who=evil)
"""


def written(form: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(HOSTILE)],
        cwd=ROOT, env=os.environ | {"LOG_FORMAT": form, "PYTHONUTF8": "1"}, capture_output=True, check=True,
    )  # fmt: skip
    return done.stderr.decode()


@pytest.mark.parametrize("form", ["console", "json"])
def test_nothing_in_it_acts(form):
    assert all(line.isprintable() for line in written(form).removesuffix("\n").split("\n"))


def test_for_machines_one_event_is_one_object():
    lines = [json.loads(line) for line in written("json").splitlines()]
    assert [line["event"] for line in lines] == [HOSTILE, f"Not Found: {HOSTILE}", "started", "failed"]


def test_for_people_only_events_begin_a_line():
    lines = written("console").removesuffix("\n").split("\n")
    begun = [line for line in lines if not line.startswith("  ")]
    assert len(begun) == 4
    assert not any("color_message" in line for line in lines)
    assert all("[warning" in line or "[error" in line for line in begun)
    assert "\\n" in begun[0]
    assert any("ValueError: /a" in line for line in lines if line not in begun)
