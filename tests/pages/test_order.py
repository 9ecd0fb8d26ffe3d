"""What a page lets people do to the place of a job, and to the pauses of a queue and its types."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.audit.models import Entry
from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.queues.models import PausedType, Queue
from tests import acts
from tests.pages.looks import text_of


def post(browser, verb, key, **data):
    return browser.post(reverse(f"dashboard:{verb}", args=[key]), data, follow=True)


def line():
    return list(Job.objects.filter(state="queued").order_by("rank", "id").values_list("pk", flat=True))


def test_a_job_is_held_back_and_let_go(member, queue):
    job_id = acts.enqueue(queue)
    assert "goes on as queued" in text_of(post(member, "pause_job", job_id))
    assert find(job_id).state == "paused"
    post(member, "resume_job", job_id)
    assert find(job_id).state == "queued"


@pytest.mark.parametrize(("to", "then"), [("up", [0, 2, 1, 3]), ("top", [2, 0, 1, 3]), ("down", [0, 1, 3, 2])])
def test_a_job_is_moved(to, then, member, queue):
    jobs = [acts.enqueue(queue) for _ in range(4)]
    assert "Moved." in text_of(post(member, "move", jobs[2], to=to))
    assert line() == [jobs[place] for place in then]


def test_a_job_runs_next_is_more_urgent_or_later(member, queue):
    first, job_id = acts.enqueue(queue, priority=9), acts.enqueue(queue)
    post(member, "run_next", job_id)
    assert line() == [job_id, first]
    post(member, "priority", job_id, priority="-3")
    post(member, "reschedule", job_id, minutes="10")
    job = find(job_id)
    assert (job.priority, job.state) == (-3, "scheduled")


@pytest.mark.parametrize(
    ("verb", "data"),
    [
        ("move", {"to": "sideways"}),
        ("priority", {"priority": "1001"}),
        ("priority", {"priority": "٣x"}),
        ("priority", {"priority": "--5"}),
        ("priority", {}),
        ("reschedule", {"minutes": "-1"}),
        ("reschedule", {"minutes": "9" * 50}),
    ],
)
def test_nonsense_is_refused_in_words(verb, data, member, queue):
    job_id = acts.enqueue(queue)
    assert post(member, verb, job_id, **data).status_code == 200
    assert not Entry.objects.filter(target_id=str(job_id)).exists()


def test_a_job_is_given_to_another_worker_which_the_page_names(member, queue, session):
    job_id = acts.enqueue(queue)
    seen = text_of(post(member, "reassign", job_id, worker=session.worker.uid))
    assert "It waits for another worker." in seen
    assert f"Requires worker {session.worker.uid}" in seen
    assert "There is no such worker." in text_of(post(member, "reassign", job_id, worker="nobody"))
    assert "Requires" not in text_of(post(member, "reassign", job_id, worker=""))


def test_a_queue_is_paused_until_a_time_with_a_reason(member, queue):
    end = (timezone.now() + timedelta(hours=2)).replace(second=0, microsecond=0)
    seen = text_of(post(member, "pause", queue.pk, reason="the printer burns", until=f"{end:%Y-%m-%dT%H:%M}"))
    assert "the printer burns, until" in seen
    assert Queue.objects.get(pk=queue.pk).paused_until == end
    for nonsense in ("tomorrow", "9999-12-31T23:59-14:00"):
        assert "This is no time." in text_of(post(member, "pause", queue.pk, until=nonsense))
    post(member, "pause", queue.pk, until=f"{end:%Y-%m-%dT%H:%M}-01:00")
    assert Queue.objects.get(pk=queue.pk).paused_until == end + timedelta(hours=1)


def test_a_type_is_paused_shown_and_resumed(member, viewer, queue):
    post(member, "pause_type", queue.pk, type="image.scale", reason="wrong model")
    seen = text_of(viewer.get(reverse("dashboard:queue", args=[queue.pk])))
    assert "image.scale" in seen
    assert "wrong model" in seen
    post(member, "resume_type", queue.pk, type="image.scale")
    assert not PausedType.objects.exists()
    assert [entry.action for entry in Entry.objects.order_by("id")] == ["type.pause", "type.resume"]


def test_a_queues_page_names_its_limits(member, queue):
    text = text_of(member.get(reverse("dashboard:queue", args=[queue.pk])))
    assert not [name for name in ("shards", "Of one key", "May hold") if name in text]
    Queue.objects.filter(pk=queue.pk).update(max_concurrency=9, shards=3, max_per_key=2, max_depth=77)
    text = text_of(member.get(reverse("dashboard:queue", args=[queue.pk])))
    assert all(said in text for said in ("9 jobs, counted in 3 shards", "2 at once", "77 jobs"))
