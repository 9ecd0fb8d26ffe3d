"""Tell one server from its successor."""

from apps.sql import Statement

# The timeline, as eight hexadecimal digits.
timeline = Statement.beside(__file__, str)
