"""What tenants and handlers write is shown as text, wherever it stands."""

import pytest
from django.utils import timezone

from apps.audit.relay import relay
from apps.jobs.models import JobLog, Schedule, Tick
from apps.queues.models import Queue
from tests import acts
from tests.factories import MembershipFactory, QueueFactory, RetryPolicyFactory
from tests.jobs.schedules import make_schedule
from tests.pages.looks import elements_of, text_of

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "javascript:alert(1)",
    "{{7*7}}",
    "{% csrf_token %}",
    "<!--",
    "]]>",
    "&lt;b&gt;&amp;",
    "\u202egnp.exe",
    "<b>bold</b>",
]


# What a page of ours may have although a job that has not run shows none of it.
OURS = {
    "pre",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "ol",
    "ul",
    "li",
    "details",
    "summary",
    "select",
    "option",
    "noscript",
    "progress",
    "dialog",
    "dl",
    "dt",
    "dd",
    "small",
    "b",
    "i",
    "label",
    "img",
    "time",
    "rect",
    "title",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_it_is_text_on_every_page(text, client, organization, session, settings, tmp_path):
    client.force_login(MembershipFactory.create(organization=organization, role="admin", user__name=text).user)
    organization.name = text
    organization.save()
    project = organization.projects.create(name=text, slug="p")
    queue = _queue(project, text)
    job_id, dead = _jobs(queue, session, text)
    settings.RESULTS_DIR = tmp_path
    (tmp_path / str(job_id)).mkdir()
    (tmp_path / str(job_id) / text.replace("/", "_")).write_bytes(b"x")
    schedule = _schedule(queue, text)
    own = _own_elements(client, f"/jobs/{acts.enqueue(QueueFactory.create(project=project))}")
    lists = ("/", "/jobs", "/jobs?state=dead_letter", "/workers", "/dead-letters", "/schedules", "/line")
    for address in (*lists, f"/queues/{queue.pk}", f"/jobs/{job_id}", f"/jobs/{dead}", f"/schedules/{schedule}"):
        response = client.get(address)
        assert not _foreign(response, own), address
        assert " ".join(text.split()) in text_of(response), address


def _foreign(response, own: set[str]) -> list[object]:
    """Elements, handlers and links that we did not write."""
    return [
        (tag, attrs)
        for tag, attrs in elements_of(response)
        if tag not in own
        or any(name.startswith("on") for name in attrs)
        or (attrs.get("href") or "").lower().startswith("javascript")
    ]


def _queue(project, text):
    return QueueFactory.create(
        project=project,
        retry_policy=RetryPolicyFactory.create(project=project, name=text),
        pause_reason=text,
        paused_by=text,
    )


def _schedule(queue, text):
    made = make_schedule(queue, name=text, job_type=text, payload={text: text})
    Tick.objects.create(schedule=made, scheduled_for=timezone.now(), outcome="missed", why=text)
    Schedule.objects.filter(pk=made.pk).update(
        paused_at=timezone.now(), paused_by=text, pause_reason=text, trouble=text, cron_expr=text, timezone=text
    )
    return made.pk


def _jobs(queue, session, text):
    job_id = acts.enqueue(queue, type=text, payload='{"a": 1}', labels='{"tag": "x"}', unique_key=text)
    dead = acts.enqueue(queue, type=text)
    offers: dict[str, int | None] = {text: None}
    for one in acts.take(session, queue, offers=offers):
        JobLog.objects.create(
            job_id=one.job_id, fence=one.fence, line=1, at=timezone.now(), attempt=1, level=text, message=text
        )
        outcome = "permanent_error" if one.job_id == dead else "success"
        error = {} if outcome == "success" else {"error_class": text, "error_message": text, "traceback": text}
        acts.finish(session, one, outcome=outcome, **error)
    relay()
    Queue.objects.filter(pk=queue.pk).update(paused_at=timezone.now())
    return job_id, dead


def _own_elements(client, address) -> set[str]:
    """The elements our own pages are made of."""
    return OURS | {tag for tag, _ in elements_of(client.get(address))}
