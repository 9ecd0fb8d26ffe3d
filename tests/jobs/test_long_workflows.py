"""Workflows that are very long or very wide run to their end; the long forms are as large as promised."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.jobs.models import Dependency
from tests.acts import finish, take
from tests.factories import SessionFactory
from tests.jobs.looks import run
from tests.jobs.workflows import begin, standing
from tests.trouble.conftest import long_only

SHAPES = [
    pytest.param(120, 1, id="chain"),
    pytest.param(120, 10, id="layers"),
    pytest.param(10_000, 1, id="chain-of-10000", marks=[pytest.mark.chaos, long_only]),
    pytest.param(10_000, 50, id="200-layers-of-50", marks=[pytest.mark.chaos, long_only]),
]


@pytest.mark.parametrize(("jobs", "width"), SHAPES)
def test_it_runs_to_its_end_in_layers(queue, settings, jobs, width):
    settings.BATCH_MAX = jobs
    parents = {
        f"j{n}": [f"j{p}" for p in range((n // width - 1) * width, n // width * width)] if n >= width else []
        for n in range(jobs)
    }
    film = begin(queue, parents)
    assert Dependency.objects.count() == (jobs - width) * width
    run("ANALYZE jobs_dependency, jobs_job_live")  # nobody else can: they are not committed
    session = SessionFactory.create(concurrency=width, lease_expires_at=timezone.now() + timedelta(hours=1))
    for _layer in range(jobs // width):
        taken = take(session, queue, limit=width)
        assert len(taken) == width
        finish(session, *taken)
    assert standing(film) == "completed"
    assert not Dependency.objects.filter(settled_at=None).exists()
