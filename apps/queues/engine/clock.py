"""What time it is in the database."""

from datetime import datetime

from apps.sql import Statement


def _moment(at: datetime) -> datetime:
    return at


clock = Statement.beside(__file__, _moment)
