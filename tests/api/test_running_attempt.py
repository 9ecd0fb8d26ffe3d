"""The attempt that runs stands among the others, without an end; once, whatever becomes of it."""

import pytest
from django.utils import timezone

from apps.jobs.models import JobLog
from tests import acts
from tests.jobs.looks import come_round

pytestmark = pytest.mark.django_db


def attempts(api, job_id):
    return api.get(f"jobs/{job_id}").json()["attempts"]


def test_it_comes_last_with_what_it_has_said(api, queue, session):
    job_id = acts.enqueue(queue, max_attempts=2)
    acts.finish(session, acts.take_one(session, queue), outcome="retryable_error", error_class="OSError")
    come_round(job_id)
    taken = acts.take_one(session, queue)
    JobLog.objects.create(
        job_id=job_id, fence=taken.fence, line=1, at=timezone.now(), attempt=2, level="info", message="so far"
    )
    [before, now] = attempts(api, job_id)
    assert (before["attempt"], before["outcome"]) == (1, "retryable_error")
    assert (now["attempt"], now["outcome"], now["finished_at"], now["worker"], now["fence"]) == (
        2, None, None, session.worker.uid, str(taken.fence)
    )  # fmt: skip
    assert [line["message"] for line in now["logs"]] == ["so far"]
    acts.finish(session, taken)
    assert [one["outcome"] for one in attempts(api, job_id)] == ["retryable_error", "success"]


def test_one_that_waits_has_none(api, queue, session):
    job_id = acts.enqueue(queue)
    assert attempts(api, job_id) == []
    acts.finish(session, acts.take_one(session, queue), outcome="released")
    assert [one["outcome"] for one in attempts(api, job_id)] == ["released"]
