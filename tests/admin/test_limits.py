"""Limits of a queue in the admin."""

from apps.audit.models import Entry
from apps.queues.models import Gate
from tests.admin.test_changes import form_of
from tests.admin.test_lists import page_of


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
