"""What the architecture tests know of .sql files: where they are and how to read them."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

APPS = Path(__file__).parents[2] / "apps"
FILES = sorted(path for path in APPS.rglob("*.sql") if "migrations" not in path.parts)
# An app looks only down, also in SQL: docs/architecture.md.
ORDER = ["bench", "demo", "dashboard", "events", "runtime", "jobs", "workers", "queues", "accounts", "audit"]
# … and writes only its own tables, but for these.
MAY_WRITE = defaultdict(
    set,
    jobs={
        "queues_gate",
        "queues_depth",
        "queues_minutestat",
        "queues_failuresummary",
        "workers_session",
    },
)
EVERYBODY_MAY_WRITE = {"audit_outbox"}

TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|[A-Za-z_][\w.]*|<>|!=|::|\S", re.S)


def name_of(path: Path) -> str:
    return str(path.relative_to(APPS))


def app_of(path: Path) -> str:
    return path.relative_to(APPS).parts[0]


def tokens(text: str) -> list[str]:
    """The words of a statement, without comments."""
    return [token for token in TOKEN.findall(text) if not token.startswith(("--", "/*"))]


def tables(text: str) -> set[str]:
    """Every name that looks like a table of an app."""
    known = re.compile(rf"({'|'.join(ORDER)})_\w+")
    return {word for token in tokens(text) for word in token.split(".") if known.fullmatch(word)}


def literals(column: str, text: str) -> set[str]:
    """The literals a column is compared with, listed against or set to, CASE expressions included."""
    words = tokens(text)
    found: set[str] = set()
    for place, word in enumerate(words):
        if word.rpartition(".")[2] != column:
            continue
        found |= _after(words, place + 1)
        if words[place - 1].upper() == "AS" and words[place - 2].upper() == "END":
            found |= _results(words, _opening(words, place - 2))
        elif words[place - 1].upper() == "AS" and _is_literal(words[place - 2]):
            found.add(words[place - 2])
    return {word.strip("'") for word in found}


def _after(words: list[str], place: int) -> set[str]:
    rest = [word.upper() for word in words[place : place + 3]]
    if rest[:1] == ["NOT"]:
        return _after(words, place + 1)
    if rest[:2] == ["IN", "("]:
        end = words.index(")", place)
        return {word for word in words[place:end] if _is_literal(word)}
    if rest[:1] in (["="], ["<>"], ["!="]):
        if rest[1:2] == ["CASE"]:
            return _results(words, place + 1)
        return {word for word in words[place + 1 : place + 2] if _is_literal(word)}
    return set()


def _results(words: list[str], opening: int) -> set[str]:
    """What a CASE expression may answer, if that is a literal."""
    found, depth = set(), 0
    for place in range(opening, len(words)):
        word = words[place].upper()
        depth += (word == "CASE") - (word == "END")
        if depth == 0:
            break
        if word in ("THEN", "ELSE") and _is_literal(words[place + 1]):
            found.add(words[place + 1])
    return found


def _opening(words: list[str], end: int) -> int:
    depth = 0
    for place in range(end, -1, -1):
        depth += (words[place].upper() == "END") - (words[place].upper() == "CASE")
        if depth == 0:
            return place
    raise ValueError("END without CASE")


def _is_literal(word: str) -> bool:
    return word.startswith("'")


def explain(text: str, params: Any = None) -> dict[str, Any]:
    """The plan PostgreSQL makes, with the parameters sent beside the text as Statement sends them."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {text}", params or defaultdict(lambda: None))
        [[plan]] = cursor.fetchall()
    parsed = json.loads(plan) if isinstance(plan, str) else plan
    return dict(parsed[0]["Plan"])


def explain_generic(text: str) -> dict[str, Any]:
    """The plan that is kept when a statement is prepared, whatever its parameters. PostgreSQL 16 and newer."""
    names = {name: f"${place}" for place, name in enumerate(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)), start=1)}
    numbered = re.sub(r"%\((\w+)\)s", lambda found: names[found[1]], text).replace("%%", "%")
    connection.ensure_connection()
    with psycopg.ClientCursor(connection.connection) as cursor:
        cursor.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {numbered}".encode())
        [[plan]] = cursor.fetchall()
    parsed = json.loads(plan) if isinstance(plan, str) else plan
    return dict(parsed[0]["Plan"])


def nodes(plan: dict[str, Any], parent: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Every node of a plan; each knows its parent."""
    plan["Parent"] = parent
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child, plan)


def written(plan: dict[str, Any]) -> set[str]:
    """The tables a plan writes, by PostgreSQL's own account."""
    return {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "ModifyTable"}
