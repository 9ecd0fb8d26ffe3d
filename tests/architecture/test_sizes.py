"""Small functions, small files, one door to the database."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted(
    path
    for folder in ("apps", "config", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
APPS = [path for path in CODE if path.is_relative_to(ROOT / "apps")]
TEXTS = [
    *CODE,
    *(path for path in (ROOT / "apps").rglob("*.sql") if "migrations" not in path.parts),
    *(ROOT / "docs" / "clients").glob("*.*"),
    *(ROOT / "static" / "fencepost").glob("*.*s"),
]
FUNCTION, FILE = 30, 300

# What would open a cursor, or write SQL where no test finds it.
DOORS = {"cursor", "execute", "executemany", "raw", "extra", "RawSQL", "AsyncCursor", "Cursor", "ClientCursor"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def long_functions(source: str) -> list[str]:
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [node.name for node in functions if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION]


def doors(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in DOORS:
                yield f"{name} in line {node.lineno}"


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_no_function_is_longer_than_thirty_lines(path):
    assert long_functions(path.read_text()) == []


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_no_file_is_longer_than_three_hundred_lines(path):
    assert len(path.read_text().splitlines()) <= FILE


@pytest.mark.parametrize("path", [path for path in APPS if name_of(path) != "apps/sql.py"], ids=name_of)
def test_only_sql_py_opens_a_cursor(path):
    assert list(doors(path.read_text())) == []


# Planted: the tests above can fail.


def test_a_long_function_is_found():
    body = "".join(f"        x = {n}\n" for n in range(FUNCTION))
    assert long_functions(f"def short():\n    pass\n\nclass A:\n    async def long(self):\n{body}") == ["long"]


@pytest.mark.parametrize("call", ["connection.cursor()", "Job.objects.raw('x')", "RawSQL('x', [])", "c.execute('x')"])
def test_a_door_is_found(call):
    assert list(doors(f"x = {call}"))
