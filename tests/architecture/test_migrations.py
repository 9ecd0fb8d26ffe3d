"""Migrations after the first keep out of the way of those who work: docs/runbook.md, Deploying."""

import re
from pathlib import Path

import pytest
from django.db import migrations
from django.db.migrations.loader import MigrationLoader

APPS = ("accounts", "audit", "jobs", "queues", "workers")
HOT = re.compile(r"\b(jobs_\w+|audit_(outbox|event|head)|workers_session)\b")
CONCURRENT = ("AddIndexConcurrently", "RemoveIndexConcurrently")
LATER = [
    migration
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items())
    if app in APPS and not name.startswith("0001_")
]


def texts(operation: migrations.RunSQL) -> str:
    parts = operation.sql if isinstance(operation.sql, list | tuple) else [operation.sql]
    return "\n".join(part if isinstance(part, str) else part[0] for part in parts)


def faults(migration: migrations.Migration) -> list[str]:
    """What of a migration would hold others up, or could not be tried again."""
    found = []
    if not migration.atomic and len(migration.operations) != 1:
        found.append("one that is not atomic has a single operation: half of it could not be tried again")
    for operation in migration.operations:
        text = texts(operation) if isinstance(operation, migrations.RunSQL) else ""
        if re.search(r"lock_timeout", text, re.I):
            found.append("how long it waits for locks is migrate's to say")
        if re.search(r"\bCREATE (UNIQUE )?INDEX (?!CONCURRENTLY)", text, re.I) and HOT.search(text):
            found.append("an index of a hot table is made CONCURRENTLY")
        if re.search(r"\bINDEX CONCURRENTLY (?!IF )", text, re.I):
            found.append("what is not atomic says IF [NOT] EXISTS, for it may be tried again")
        if type(operation).__name__ in ("AddIndex", "RemoveIndex") and migration.app_label in ("jobs", "audit"):
            found.append(f"{type(operation).__name__} locks the table: use {' or '.join(CONCURRENT)}")
    return found


def test_no_later_migration_holds_anybody_up():
    assert {str(migration): found for migration in LATER if (found := faults(migration))} == {}


def test_the_first_ones_are_left_out_and_nothing_else():
    files = Path(__file__).parents[2].glob("apps/*/migrations/0*.py")
    assert len(LATER) == len([path for path in files if not path.name.startswith("0001_")])


# Planted: the test above can fail.


def planted(*texts: str, atomic: bool) -> migrations.Migration:
    operations = [migrations.RunSQL(text) for text in texts]
    kind = type("Migration", (migrations.Migration,), {"atomic": atomic, "operations": operations})
    made: migrations.Migration = kind("0002_x", "jobs")
    return made


@pytest.mark.parametrize(
    ("text", "atomic", "count"),
    [
        ("CREATE INDEX x ON jobs_job_live (id)", True, 1),
        ("CREATE INDEX CONCURRENTLY x ON jobs_job_live (id)", False, 1),
        ("CREATE INDEX CONCURRENTLY IF NOT EXISTS x ON jobs_job_live (id)", False, 0),
        ("SET lock_timeout = 0", True, 1),
        ("ALTER TABLE jobs_job ADD COLUMN x int", True, 0),
    ],
)
def test_a_fault_is_found(text, atomic, count):
    assert len(faults(planted(text, atomic=atomic))) == count


def test_half_of_what_is_not_atomic_is_found():
    assert len(faults(planted("SELECT 1", "SELECT 2", atomic=False))) == 1
