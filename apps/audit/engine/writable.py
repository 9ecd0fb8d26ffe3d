"""Tell a server that takes writes from a standby, and from one that is closed to them."""

from apps.sql import Statement

writable = Statement.beside(__file__, bool)
