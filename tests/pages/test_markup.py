"""What tenants and handlers write is shown as text, wherever it stands."""

import pytest
from django.utils import timezone

from apps.jobs.models import JobLog
from tests import acts
from tests.factories import MembershipFactory, QueueFactory, RetryPolicyFactory
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


@pytest.mark.parametrize("text", HOSTILE)
def test_it_is_text_on_every_page(text, client, organization, session, settings, tmp_path):
    user = MembershipFactory.create(organization=organization, role="admin", user__name=text).user
    organization.name = text
    organization.save()
    project = organization.projects.create(name=text, slug="p")
    policy = RetryPolicyFactory.create(project=project, name=text)
    queue = QueueFactory.create(project=project, retry_policy=policy, pause_reason=text, paused_by=text)
    job_id, dead = _jobs(queue, session, text)
    queue.paused_at = timezone.now()
    queue.save()
    settings.RESULTS_DIR = tmp_path
    (tmp_path / str(job_id)).mkdir()
    (tmp_path / str(job_id) / text.replace("/", "_")).write_bytes(b"x")
    client.force_login(user)
    plain = acts.enqueue(QueueFactory.create(project=project))
    bare = _shape(client, f"/jobs/{plain}")
    for address in (
        "/",
        "/jobs",
        "/workers",
        "/dead-letters",
        f"/queues/{queue.pk}",
        f"/jobs/{job_id}",
        f"/jobs/{dead}",
    ):
        response = client.get(address)
        found = elements_of(response)
        assert not {tag for tag, _ in found} - bare, address
        assert not [attrs for _, attrs in found if any(name.startswith("on") for name in attrs)], address
        assert not [attrs for _, attrs in found if (attrs.get("href") or "").lower().startswith("javascript")], address
        assert " ".join(text.split()) in text_of(response), address


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
    return job_id, dead


def _shape(client, address) -> set[str]:
    """The elements our own pages are made of."""
    return {tag for tag, _ in elements_of(client.get(address))} | {
        *(
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
        ),
        *(
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
        ),
    }
