"""A worker that is reserved takes nothing else any more."""

from apps.sql import Statement

close = Statement.beside(__file__, lambda reservation_id: reservation_id)
