"""Transcripts of a shell in a page: what was typed after `$ `, what was answered, and the same said again."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "\x1e"  # between the answers of two commands
# What changes from run to run, and how it looks.
CHANGING = re.compile(
    r"(?P<token>fp_(?:[A-Za-z0-9]{36}|…))"
    r'|(?<="hint":")(?P<hint>[A-Za-z0-9]{4})(?=")'
    r"|(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"|(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"
    r'|(?<="fence":")(?P<fence>\d+)'
)


@dataclass
class Step:
    """One command, and what it answered."""

    command: str
    answer: str = ""


def steps_of(page: str, heading: str) -> list[Step]:
    """The commands below a heading, in all its blocks of `console`."""
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    steps: list[Step] = []
    for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL):
        for line in block.splitlines(keepends=True):
            if line.startswith("$ "):
                steps.append(Step(line[2:]))
            elif line.startswith("> ") and not steps[-1].answer:
                steps[-1].command += line[2:]
            else:
                steps[-1].answer += line
    return steps


def run(commands: list[str], *, folder: Path, env: dict[str, str]) -> list[str]:
    """What one bash says to each, as a terminal would show it."""
    script = "".join(f"{command.rstrip()}\nprintf '{MARK}'\n" for command in commands)
    shell = subprocess.Popen(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env={**os.environ, **env, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        return shell.communicate(timeout=120)[0].split(MARK)[: len(commands)]
    finally:  # what it started, should it not have come so far as to end that
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def shape(answers: list[str]) -> list[str]:
    """The answers with times, tokens and fences as such, and ids by number: the same where the same stood."""
    seen: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        kind = found.lastgroup
        return seen.setdefault(found[0], f"<id {len(seen) + 1}>") if kind == "id" else f"<{kind}>"

    return [CHANGING.sub(named, answer).rstrip("\n") for answer in answers]


def differing(told: list[Step], said: list[str]) -> Iterator[str]:
    """Where a page and a shell are not of one mind."""
    for step, ours, theirs in zip(told, shape([step.answer for step in told]), shape(said), strict=True):
        if ours != theirs:
            yield f"$ {step.command}--- told\n{ours}\n--- said\n{theirs}"
