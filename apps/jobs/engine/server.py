"""Tell one server from its successor, and how often to look at its sessions."""

from dataclasses import dataclass
from datetime import datetime

from apps.sql import Statement


@dataclass(frozen=True, slots=True)
class Server:
    """Its timeline as eight hexadecimal digits, its clock, and the shortest lease (s) that a live session has."""

    timeline: str
    now: datetime
    shortest_lease: float | None


server = Statement.beside(__file__, Server)
