"""An operator takes a worker out of service, or puts it back."""

from apps.sql import Statement

drain = Statement.beside(__file__, lambda worker_id: worker_id)
