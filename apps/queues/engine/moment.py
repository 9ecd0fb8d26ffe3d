"""When a transaction stands in the order of all."""

from apps.sql import Statement

moment = Statement.beside(__file__, int)
