"""The time zones that both PostgreSQL and Python know."""

from functools import cache
from zoneinfo import available_timezones

from apps.sql import Statement

NOWHERE = {"Factory", "localtime"}  # they stand among the names, and name no place

_zones = Statement.beside(__file__, str)


@cache
def zones() -> frozenset[str]:
    """Their names; asked once, for reading them takes the server a tenth of a second."""
    return (frozenset(_zones()) & available_timezones()) - NOWHERE
