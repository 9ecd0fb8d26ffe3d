"""A queue's depth cap over HTTP: who sets it, and what a submit to a full queue is answered."""

import pytest

from apps.audit.models import Entry
from apps.jobs.models import Job
from apps.queues.models import Depth

pytestmark = pytest.mark.django_db


def test_a_full_queue_answers_429_and_when_to_come_again(api, queue, jobs):
    assert api.patch(f"queues/{queue.pk}", {"max_depth": 2}).json()["max_depth"] == 2
    Depth.objects.create(queue=queue, queued=2)
    for path, body in ((jobs, {"type": "echo"}), (f"{jobs}/batch", {"jobs": [{"type": "echo"}]})):
        answer = api.post(path, body)
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) > 0
        said = answer.json()
        assert (said["code"], said["depth"], said["max_depth"]) == ("queue_full", 2, 2)
        assert "2 jobs of at most 2" in said["detail"]
    assert not Job.objects.exists()
    api.patch(f"queues/{queue.pk}", {"max_depth": None})
    assert api.post(jobs, {"type": "echo"}).status_code == 201


def test_a_refused_submit_does_not_use_up_its_key_and_a_known_one_is_answered_from_a_full_queue(api, queue, jobs):
    first = api.post(jobs, {"type": "echo"}, key="known")
    api.patch(f"queues/{queue.pk}", {"max_depth": 1})
    cache = Depth.objects.create(queue=queue, queued=1)
    assert api.post(jobs, {"type": "echo"}, key="new").status_code == 429
    assert api.post(jobs, {"type": "echo"}, key="known").json()["id"] == first.json()["id"]
    cache.delete()
    assert api.post(jobs, {"type": "echo"}, key="new").status_code == 201


def test_the_limit_and_the_weight_are_set_by_who_may_and_audited_with_before_and_after(api, viewer, queue):
    assert viewer.patch(f"queues/{queue.pk}", {"max_depth": 5}).status_code == 403
    api.patch(f"queues/{queue.pk}", {"max_depth": 5, "weight": 3})
    entry = Entry.objects.latest("id")
    assert entry.action == "queue.update"
    assert (entry.before, entry.after) == ({"max_depth": None, "weight": 1}, {"max_depth": 5, "weight": 3})


@pytest.mark.parametrize("field", [{"max_depth": 0}, {"max_depth": 1_000_001}, {"weight": 0}, {"weight": 101}])
def test_values_that_make_no_sense_are_named(api, queue, field):
    answer = api.patch(f"queues/{queue.pk}", field)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == f"#/{next(iter(field))}"
