"""What waits for older transactions does not wait for PostgreSQL's own housekeeping, which may take hours."""

from collections.abc import Iterator
from typing import Any

import pytest

from apps.audit.record import SYSTEM
from apps.jobs.engine.open_gates import open_gates
from apps.queues.models import Gate
from apps.queues.services import queues
from tests.jobs.looks import run
from tests.processes import until

pytestmark = pytest.mark.chaos

WHO = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND backend_xmin IS NOT NULL AND datname = %s"


@pytest.fixture
def vacuum(site) -> Iterator[int]:
    """The process that cleans a table of this database, so slowly that it will not end before the test."""
    run(
        "CREATE TABLE dusty WITH (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,"
        " autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)"
        " AS SELECT n, repeat('x', 500) AS what FROM generate_series(1, 50000) AS n"
    )
    site.server.settle("autovacuum_naptime", "1s")
    run("DELETE FROM dusty")
    try:
        until(lambda: cleaners(site), within=60)
        [[pid]] = cleaners(site)
        yield pid
    finally:
        run("DROP TABLE dusty")  # which sends it away
        site.server.settle("autovacuum_naptime", None)


def cleaners(site) -> list[tuple[Any, ...]]:
    with site.server.admin() as admin:
        return list(admin.execute(WHO, (site.database.name,)))


def test_a_new_cap_is_not_kept_from_opening_by_a_vacuum(site, vacuum):
    queues.update(queue=site.queue, actor=SYSTEM, max_concurrency=1)
    assert open_gates() == (site.queue.pk, True)
    assert Gate.objects.get(queue=site.queue).opens_after is None
    assert cleaners(site) == [(vacuum,)]
