"""What Prometheus reads: the numbers as they are, by names that are bounded, for who has the installation's own token."""

import re
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from apps.accounts.models import Role
from apps.audit.relay import relay
from apps.jobs.engine import metrics as engine
from apps.jobs.engine.metrics import metrics
from apps.jobs.engine.rollup import rollup
from apps.jobs.selectors.metrics import Gauge, as_text
from config import probes
from tests import acts
from tests.factories import ApiTokenFactory, MembershipFactory, QueueFactory, SessionFactory
from tests.jobs.looks import run
from tests.trouble.servers import free_port

TOKEN = "a token that nobody would guess"
AT = {"organization": "acme", "project": "media", "queue": "images"}


@pytest.fixture(autouse=True)
def gauge(monkeypatch, settings) -> Gauge:
    """Nothing measured yet, and a token set."""
    settings.METRICS_TOKEN = TOKEN
    made = Gauge()
    monkeypatch.setattr(probes, "gauge", made)
    return made


def ask(token: str = TOKEN, scheme: str = "Bearer") -> Any:
    return Client().get("/metrics", headers={"Authorization": f"{scheme} {token}", "Host": "10.0.0.7"})


def told(text: str) -> dict[tuple[str, str], float]:
    """The samples by name, and by what they are told of beside the queue."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            rest = set(sample.labels.items()) - set(AT.items())
            found[sample.name.removeprefix("fencepost_"), ",".join(value for _, value in sorted(rest))] = sample.value
    return found


def measured() -> dict[tuple[str, str], float]:
    return told(as_text(*metrics()).decode())


def test_it_tells_how_a_queue_does(own_database, queue, session):
    queue.max_concurrency = 7
    queue.save()
    for _ in range(5):
        acts.enqueue(queue)
    done, failed, *_ = acts.take(session, queue, limit=3)
    acts.finish(session, done)
    acts.finish(session, failed, outcome="permanent_error")
    relay()
    while (turn := rollup(every_ms=0)) and turn.is_behind:
        pass
    answer = ask()
    assert (answer.status_code, answer["Content-Type"][:10]) == (200, "text/plain")
    seen = told(answer.content.decode())
    jobs = {state: seen["queue_jobs", state] for state in ("queued", "running", "dead_letter")}
    assert jobs == {"queued": 2, "running": 1, "dead_letter": 1}
    ended = {how: seen["queue_recently_ended", how] for how in ("completed", "failed", "dead_lettered", "lost")}
    assert ended == {"completed": 1, "failed": 1, "dead_lettered": 1, "lost": 0}
    assert (seen["queue_concurrency_limit", ""], seen["queue_paused", ""], seen["queue_breaker_open", ""]) == (7, 0, 0)
    assert 0 < seen["queue_oldest_ready_age_seconds", ""] < 600
    assert (seen["queues", ""], seen["queues_left_out", ""], seen["outbox_oldest_age_seconds", ""]) == (1, 0, 0)


@pytest.mark.django_db
def test_it_tells_who_works(session):
    SessionFactory.create(draining=True)
    acts.fall_silent(SessionFactory.create())
    seen = measured()
    assert (seen["workers", ""], seen["workers_draining", ""], seen["worker_slots", ""]) == (1, 1, 10)
    assert ("rollup_age_seconds", "") not in seen


@pytest.mark.django_db
def test_a_pause_is_told_while_it_lasts(queue):
    queue.paused_at = queue.paused_until = queue.created_at
    queue.save()
    assert measured()["queue_paused", ""] == 0
    queue.paused_until = None
    queue.save()
    assert measured()["queue_paused", ""] == 1


@pytest.mark.django_db
def test_an_event_that_nobody_numbers_grows_old(queue):
    acts.enqueue(queue)
    assert measured()["outbox_oldest_age_seconds", ""] > 0


@pytest.mark.django_db
def test_of_a_long_line_what_the_cache_has_counted(queue, monkeypatch):
    monkeypatch.setattr(engine, "CAP", 3)
    for _ in range(3):
        acts.enqueue(queue)
    assert measured()["queue_jobs", "queued"] == 3
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "INSERT INTO queues_depth (queue_id, queued, running, measured_at) VALUES (%s, 5000, 0, now())", [queue.pk]
        )
    assert measured()["queue_jobs", "queued"] == 5000
    run("UPDATE queues_depth SET measured_at = now() - interval '61 seconds'")  # nobody measures it any more
    assert measured()["queue_jobs", "queued"] == 3


@pytest.mark.django_db
def test_what_is_measured_is_bounded_and_says_what_it_leaves_out(queue):
    QueueFactory.create_batch(3)
    with CaptureQueriesContext(connections["default"]) as sent:
        seen = told(as_text(*metrics(limit=1)).decode())
    assert (seen["queues", ""], seen["queues_left_out", ""]) == (4, 3)
    assert ("queue_jobs", "queued") in seen  # the oldest one
    assert len([one for one in sent if not re.match("SAVEPOINT|RELEASE", one["sql"])]) == 2


@pytest.mark.django_db
def test_names_and_labels_are_as_prometheus_wants_them(queue):
    for family in text_string_to_metric_families(as_text(*metrics()).decode()):
        assert re.fullmatch("fencepost(_[a-z]+)+", family.name)
        assert not re.search("_(ms|minutes|count|total)$", family.name)
        assert family.documentation.endswith(".")
        for sample in family.samples:
            assert sample.labels.keys() <= AT.keys() | {"state", "outcome"}


def test_without_a_token_it_is_nowhere(own_database, settings):
    settings.METRICS_TOKEN = ""
    assert ask("").status_code == 404


def test_no_tenant_reads_it(own_database, organization):
    owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
    made: Any = ApiTokenFactory.create(user=owner.user, organization=organization, scopes=["admin"])
    for answer in (ask(made.text), ask(""), ask(TOKEN[:-1]), ask(scheme="Basic"), ask("é")):
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="fencepost"')
    client = Client()
    client.force_login(owner.user)
    assert client.get("/metrics", {"token": TOKEN}).status_code == 401


def test_scrapers_share_what_was_measured(own_database, queue, gauge):
    now = [100.0]
    gauge.now = lambda: now[0]
    first = ask().content
    acts.enqueue(queue)
    now[0] += 4.9
    assert ask().content == first
    now[0] += 0.2
    assert told(ask().content.decode())["queue_jobs", "queued"] == 1


def test_a_database_that_is_away_is_said(own_database):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connections.settings["default"], "HOST", "127.0.0.1")
        patch.setitem(connections.settings["default"], "PORT", free_port())
        answer = ask()
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


def test_a_server_that_is_away_is_not_asked_again_by_each_scrape(own_database, gauge, monkeypatch):
    asked = []

    async def measured_in_vain() -> bytes:
        asked.append(1)
        raise OSError("away")

    monkeypatch.setattr("apps.jobs.selectors.metrics.measured", measured_in_vain)
    assert [ask().status_code for _ in range(3)] == [503] * 3
    assert len(asked) == 1
    monkeypatch.undo()
    gauge.now = lambda: 1e12
    assert gauge()
