"""The admin's lists: each opens, none counts what is hot, and rows do not cost statements."""

import re

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import ApiToken, Membership, Organization, Project, User
from apps.audit.models import Entry
from apps.audit.record import Actor, record
from apps.jobs.models import Attempt, Batch, Job, Schedule, Workflow
from apps.jobs.services import reserve, submit_batch
from apps.queues.models import Queue, RetryPolicy
from apps.workers.models import Reservation, Session, Worker
from tests import acts
from tests.factories import (
    ApiTokenFactory,
    MembershipFactory,
    QueueFactory,
    RetryPolicyFactory,
    SessionFactory,
)
from tests.jobs.schedules import come_due, fire, make_schedule
from tests.jobs.workflows import begin
from tests.pages.looks import elements_of

MODELS = [
    *(ApiToken, Membership, Organization, Project, User),
    *(Queue, RetryPolicy, Job, Attempt, Worker, Session, Entry, Schedule, Workflow, Batch, Reservation),
]
HOT = [Job, Attempt, Entry, Session]
MOST = 20  # statements for a page, whether it has 25 rows or 100


def list_of(model) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def page_of(row) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def fill(rows: int) -> None:
    """So many rows of everything, each hanging on its own."""
    for _ in range(rows):
        queue = QueueFactory.create()
        session = SessionFactory.create()
        RetryPolicyFactory.create(project=queue.project)
        MembershipFactory.create(organization=queue.project.organization)
        ApiTokenFactory.create(organization=queue.project.organization)
        come_due(make_schedule(queue))
        fire()
        acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
        reserve(workflow_id=begin(queue).pk, actor=Actor(name="x"))
        submit_batch(queue=queue, jobs=[{"type": "ping"}])
        record(actor=Actor(name="x"), organization_id=None, action="a.b", target_type="t", target_id=queue.pk)


def test_everything_the_console_is_for_is_in_it():
    assert set(MODELS) <= set(admin.site._registry)


@pytest.mark.parametrize("rows", [25, 100])
def test_no_list_costs_more_statements_for_more_rows(rows, console):
    fill(rows)
    for model in MODELS:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            response = console.get(list_of(model))
        assert response.status_code == 200, model
        assert len(asked) <= MOST, (model, [one["sql"] for one in asked])


@pytest.mark.parametrize("model", HOT)
def test_what_is_hot_is_never_counted(model, console):
    fill(3)
    with CaptureQueriesContext(connection) as asked:
        console.get(list_of(model))
    counted = [one["sql"] for one in asked if re.search(rf'COUNT\(.*FROM "{model._meta.db_table}"', one["sql"], re.I)]
    assert counted == []


@pytest.mark.parametrize("model", MODELS)
def test_a_row_opens(model, console):
    fill(1)
    row = model._default_manager.first()
    response = console.get(page_of(row))
    if model is Attempt:  # no index leads to one: the list shows all there is
        assert response.status_code == 302
    else:
        assert response.status_code == 200, model


def test_a_job_is_found_by_its_id_and_by_its_type(console, queue):
    job_id = acts.enqueue(queue, type="rare.type")
    other = acts.enqueue(queue)
    for term in (str(job_id), "rare.type"):
        body = console.get(list_of(Job), {"q": term}).content.decode()
        assert str(job_id) in body
        assert str(other) not in body


def test_a_shelf_narrows_the_list(console, queue, session):
    dead = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error")
    live = acts.enqueue(queue)
    body = console.get(list_of(Job), {"shelf": "dead"}).content.decode()
    assert str(dead) in body
    assert str(live) not in body


@pytest.mark.parametrize(
    "nonsense", ["?q=%00", "?p=99999999999", "?p=x", "?shelf=x", "?state=x", "?o=99", "?nothing=1"]
)
@pytest.mark.parametrize("model", [Job, Attempt, Entry, Queue])
def test_nonsense_in_the_address_is_no_error(model, nonsense, console, queue):
    acts.enqueue(queue)
    assert console.get(list_of(model) + nonsense).status_code in (200, 302)


@pytest.mark.parametrize("model", [Job, Entry, Queue, User, ApiToken])
@pytest.mark.parametrize("key", ["x", "01a22861-5d77-72e6-a193-c5a1f0668840", "%00"])
def test_what_is_not_there_leads_back(model, key, console):
    assert console.get(f"{list_of(model)}{key}/change/").status_code in (302, 404)


def test_a_token_never_shows_more_than_its_end(console):
    token = ApiTokenFactory.create()
    for address in (list_of(ApiToken), page_of(token)):
        body = console.get(address).content.decode()
        assert token.hint in body
        assert token.text not in body  # type: ignore[attr-defined]
        assert bytes(token.hash).hex() not in body


def test_payloads_are_shown_as_text_with_every_digit(console, queue):
    text = "</script><img src=x onerror=alert(1)>"
    job_id = acts.enqueue(queue, type=text, payload=f'{{"x": "{text}", "n": 9007199254740993}}')
    for address in (list_of(Job), page_of(Job.objects.get(pk=job_id))):
        body = console.get(address).content.decode()
        assert "<img src=x" not in body
        assert "&lt;img src=x" in body
    assert "9007199254740993" in body


def test_only_the_admin_may_evaluate(console, queue):
    shown = console.get(list_of(Queue))
    assert shown["X-Frame-Options"] == "SAMEORIGIN"
    policy = shown["Content-Security-Policy"]
    assert "'unsafe-eval'" in policy
    assert "script-src 'self' 'unsafe-eval';" in policy
    assert "frame-ancestors 'self'" in policy
    assert "unsafe" not in console.get("/accounts/login/", follow=True)["Content-Security-Policy"]


def test_the_door_is_everybodys(client, ground):
    assert client.get("/admin/login/?next=/admin/")["Location"].startswith("/accounts/login/")


def test_who_is_no_staff_stays_out(client, user):
    client.force_login(user)
    assert client.get(list_of(Queue)).status_code == 302
    refused = client.get(list_of(Queue), follow=True)
    assert refused.status_code == 403
    said = refused.content.decode()
    assert "The admin is for staff" in said
    assert f"logged in as {user.email}, who is not staff" in said
    ways = {attrs.get("href") for tag, attrs in elements_of(refused) if tag == "a"}
    assert {"/", "/accounts/logout/"} <= ways
    assert "unsafe" not in refused["Content-Security-Policy"]
