"""A worker's process ends in peace."""

from apps.sql import Statement

# Sent last, after everything it held was reported or released.
goodbye = Statement.beside(__file__, lambda session_id: session_id)
