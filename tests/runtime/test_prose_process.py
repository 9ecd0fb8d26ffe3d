"""A scheduler in a process of its own asks a model; told to stop meanwhile, it waits for the answer and keeps it."""

import signal

from apps.queues.models import FailureSummary
from tests.jobs.failures import fail, summarized
from tests.processes import Process, until
from tests.runtime.models import serving


def test_what_a_model_says_while_the_scheduler_is_told_to_stop_is_kept(own_database, tmp_path, queue, session):
    fail(session, queue)
    summarized(queue)
    with serving() as model:
        model.is_slow = True
        setup = {"LLM_API_KEY": "key-1", "LLM_MODEL": "small-1", "LLM_URL": model.url}
        log = tmp_path / "log"
        scheduler = Process("runscheduler", "--only", "prose", database=own_database, log=log, **setup)
        try:
            until(lambda: model.asked, what=lambda: scheduler.output)
            scheduler.send(signal.SIGTERM)
            model.before.set()
            assert scheduler.wait() == 0
        finally:
            scheduler.kill()
    kept = FailureSummary.objects.get()
    assert (kept.state, kept.summary) == ("current", "Mail fails.")
    assert "key-1" not in log.read_text()
