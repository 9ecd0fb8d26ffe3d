"""Limits of a queue in the admin."""

from django.urls import reverse

from apps.audit.models import Entry
from apps.queues.models import Gate, Queue
from tests.admin.test_changes import entries, form_of, run
from tests.admin.test_lists import list_of, page_of


def test_limits_are_set_and_cleared_deal_the_gate_and_are_written_down(console, queue):
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"max_concurrency": "5", "shards": "2"})
    assert list(Gate.objects.filter(queue=queue).order_by("shard").values_list("cap", flat=True)) == [3, 2]
    Gate.objects.filter(queue=queue, shard=0).update(in_flight=1)
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"shards": "4"})  # refused: a job runs
    assert Gate.objects.filter(queue=queue).count() == 2
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"max_concurrency": ""})
    assert not Gate.objects.filter(queue=queue).exists()
    first, second = Entry.objects.filter(target_id=str(queue.pk)).order_by("id")
    assert first.after == {"max_concurrency": 5, "shards": 2}
    assert (second.before, second.after) == ({"max_concurrency": 5}, {"max_concurrency": None})


def test_a_breaker_is_set_opened_closed_and_taken_off_and_written_down(console, queue):
    four = {"breaker_window": "10", "breaker_trip": "3", "breaker_share": "0.5", "breaker_cooldown_seconds": "60"}
    console.post(page_of(queue), form_of(console, page_of(queue)) | four)
    run(console, Queue, "open_breakers", queue)
    assert "breaker open" in console.get(list_of(Queue)).content.decode()
    console.post(reverse("admin:queues_queue_close_breaker", args=[queue.pk]))
    assert not Gate.objects.exists()
    run(console, Queue, "open_breakers", queue)
    run(console, Queue, "close_breakers", queue)
    run(console, Queue, "open_breakers", queue)
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"breaker_window": ""})  # refused: not all of it
    assert Queue.objects.get(pk=queue.pk).breaker_window == 10
    console.post(page_of(queue), form_of(console, page_of(queue)) | dict.fromkeys(four, ""))
    assert not Gate.objects.exists()
    assert entries(queue.pk) == [
        "queue.update",
        *["queue.breaker_open", "queue.breaker_close"] * 2,
        "queue.breaker_open",
        "queue.update",
        "queue.breaker_close",
    ]
