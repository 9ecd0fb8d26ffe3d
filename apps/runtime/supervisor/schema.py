"""A worker refuses a database that its code is ahead of. One that is ahead of its code serves it well."""

from collections.abc import Iterable

from django.db.migrations.loader import MigrationLoader

from apps.errors import Refusal
from apps.sql import Statement

NAMED = 5  # migrations in the message

applied = Statement.beside(__file__, lambda app, name: (app, name))


def refuse_older(seen: Iterable[tuple[str, str]]) -> None:
    """Raise a Refusal naming the migrations of this code that the database has not seen."""
    if lacking := unapplied(set(seen)):
        more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        named = ", ".join(f"{app}.{name}" for app, name in lacking[:NAMED])
        raise Refusal(f"The database is older than this code, it lacks {named}{more}: run manage.py migrate first.")


def unapplied(seen: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those on disk that were not applied; one that replaces others counts when all of them were, and they with it."""
    disk = MigrationLoader(None).disk_migrations
    squashed = {old for key, migration in disk.items() if key in seen for old in migration.replaces}
    return sorted(
        key
        for key, migration in disk.items()
        if key not in seen | squashed and not (migration.replaces and seen.issuperset(migration.replaces))
    )
