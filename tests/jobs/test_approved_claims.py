"""Whichever way a job is claimed, its handler hears that it was approved."""

import json
from typing import Any

import pytest

from apps.audit.record import SYSTEM, Actor
from apps.jobs import services
from apps.jobs.engine.claim import claim
from apps.jobs.engine.claim_aimed import claim_aimed
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.engine.claim_in_turn import claim_in_turn
from apps.jobs.engine.open_gates import open_gates
from apps.queues.services import queues
from tests.acts import OFFERS, enqueue

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("way", ["plain", "aimed", "in turn", "gated"])
def test_every_way_of_claiming_tells_what_was_approved(way, queue, session):
    if way == "gated":
        queues.update(queue=queue, actor=SYSTEM, max_concurrency=2)
        open_gates()
    job_id = enqueue(queue, requires_approval=True)
    services.approve(job_id=job_id, actor=Actor(name="ann@example.com"), note="go")
    asked: dict[str, Any] = {"session_id": session.pk, "offers": OFFERS, "limit": 1}
    if way == "gated":
        got = claim_gated(queue_id=queue.pk, **asked)
    else:
        ways: dict[str, Any] = {"plain": claim, "aimed": claim_aimed, "in turn": claim_in_turn}
        got = ways[way](queues=[queue.pk], **asked)
    [one] = got.jobs
    assert json.loads(one.approved or "")["note"] == "go"
