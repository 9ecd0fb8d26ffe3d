"""Find the queues that have work, for a worker that serves many."""

from apps.sql import Statement

# Sent by the supervisor before a claim when it serves more queues than a claim should look at.
ready = Statement.beside(__file__, lambda queue_id: queue_id)
