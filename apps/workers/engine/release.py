"""A reservation ends."""

from apps.sql import Statement

release = Statement.beside(__file__, lambda reservation_id: reservation_id)
