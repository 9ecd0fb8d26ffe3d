"""What the pages say of a breaker, and how a member opens and closes it."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.audit.models import Entry
from apps.queues.models import Gate
from tests import acts
from tests.jobs.breakers import FAIL, admitted, cool, end, look, rules, state
from tests.pages.looks import elements_of, text_of


def page(browser, queue):
    return text_of(browser.get(reverse("dashboard:queue", args=[queue.pk])))


def post(browser, queue, **data):
    return browser.post(reverse("dashboard:breaker", args=[queue.pk]), data, follow=True)


def test_one_that_tripped_is_told_until_when_and_who_tries(viewer, queue, session):
    rules(queue, window=20, trip=1, cooldown_seconds=120)
    assert "opens at 1 failure in the last 20, tries after 2 min" in page(viewer, queue)
    end(session, queue, FAIL)
    look()
    seen = page(viewer, queue)
    assert "breaker open" in seen
    assert "Its breaker is open: too many jobs failed; one may try at" in seen
    assert "its breaker is open: too many jobs failed" in text_of(viewer.get("/"))
    acts.enqueue(queue)
    cool(queue)
    [probe] = admitted(session, queue)
    response = viewer.get(reverse("dashboard:queue", args=[queue.pk]))
    assert "Its breaker lets one job at a time try: this one" in text_of(response)
    verdicts = [attrs["href"] for tag, attrs in elements_of(response) if tag == "a" and attrs.get("href")]
    assert f"/jobs/{probe.job_id}" in verdicts


def test_a_queue_without_one_says_so(viewer, queue):
    assert "Breaker none" in page(viewer, queue)


def test_a_member_opens_and_closes_it(member, viewer, queue):
    end_at = (timezone.now() + timedelta(hours=2)).replace(second=0, microsecond=0)
    assert "is open" in text_of(post(member, queue, state="open", until=f"{end_at:%Y-%m-%dT%H:%M}"))
    assert Gate.objects.get(queue=queue).reopens_at == end_at
    assert "somebody opened it" in page(viewer, queue)
    assert "Close the breaker" not in page(viewer, queue)
    assert "Close the breaker" in page(member, queue)
    assert "is closed" in text_of(post(member, queue, state="closed"))
    assert state(queue) is None
    assert "Open the breaker" in page(member, queue)


@pytest.mark.parametrize(
    "data",
    [{}, {"state": "half_open"}, {"state": "open", "until": "tomorrow"}, {"state": "open", "until": "2001-01-01"}],
)
def test_nonsense_is_refused_in_words(member, queue, data):
    assert post(member, queue, **data).status_code == 200
    assert not Entry.objects.exists()
