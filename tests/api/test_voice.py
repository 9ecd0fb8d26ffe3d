"""What is wrong with an input is said in one voice, whoever finds it: the framework's fields or our own door for jobs."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver
from rest_framework import serializers

from apps.accounts.serializers.fields import Body, Said
from apps.errors import BadInput, Fault
from apps.jobs.serializers.bodies import JobFields
from tests.api.caller import problem
from tests.api.test_roles import _below

pytestmark = pytest.mark.django_db
OURS = ("This ", "At most ", "Give ", "Say ", "NUL ")
# What no input brings about: it is refused before, or cannot be sent.
UNSAID = {"date", "make_aware", "max_string_length", "empty"}
UNSAID_BY = {
    ("Moment", "invalid"),
    ("Moment", "overflow"),
    ("Json", "invalid"),
    ("Object", "invalid"),
    ("Result", "invalid"),
}


def is_unsaid(field: Any, key: str) -> bool:
    shortest = key == "min_length" and getattr(field, "min_length", None) is None
    return shortest or key in UNSAID or (type(field).__name__, key) in UNSAID_BY


def fields_of(kind: Any) -> Iterator[tuple[str, Any]]:
    """Every field of a body, and what lists and objects hold."""
    for name, field in kind().fields.items():
        yield name, field
        child = getattr(field, "child", None)
        if isinstance(child, serializers.Field) and type(child).__name__ != "_UnvalidatedField":
            yield f"{name}/…", child


def test_every_field_of_every_body_speaks_our_voice():
    assert get_resolver().url_patterns  # read, and with them every body
    fields = {f"{kind.__name__}.{name}": field for kind in _below(Body) for name, field in fields_of(kind)}
    assert len(fields) > 100
    assert not [name for name, one in fields.items() if not isinstance(one, Said | serializers.ListSerializer)]
    others = [
        (name, key)
        for name, field in fields.items()
        if not isinstance(field, serializers.ListSerializer)  # told in the document, checked by services.check
        for key, said in field.error_messages.items()
        if not (said.startswith(OURS) or is_unsaid(field, key))
    ]
    assert not others


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", None, "This must not be null."),
        ("name", 5, "This must be a text that is not empty."),
        ("name", "", "This must be a text that is not empty."),
        ("default_priority", "5", "This must be a whole number."),
        ("default_priority", 5000, "This must be between -1000 and 1000."),
        ("rate_per_second", "x", "This must be a number."),
        ("rate_per_second", 10**400, "This number is out of range."),
        ("allowed_types", "x", "This must be a list."),
        ("allowed_types", ["x"] * 1001, "At most 1000; this has 1001."),
        ("allowed_types", ["x" * 129], "At most 128 characters; this has 129."),
        ("hide_payloads_below", "x", "This must be one of viewer, member, admin, owner."),
        ("breaker", 5, "This must be an object."),
    ],
)
def test_what_is_wrong_with_a_queue(api, queue, field, value, said):
    refused = problem(api.patch(f"queues/{queue.pk}", {field: value}), 400, "bad_input")
    assert said in [one["detail"] for one in refused["errors"]]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", "5"),
        ("priority", 5000),
        ("timeout_ms", True),
        ("type", 5),
        ("type", ""),
        ("type", "x" * 129),
        ("run_at", "2027-03-14T07:00:00"),
        ("run_at", 5),
        ("requires_approval", "yes"),
        ("placement", "there"),
        ("workflow", "x"),
    ],
)
def test_a_job_is_told_as_the_document_says_it_of_its_fields(api, jobs, field, value):
    body = {"type": "x", field: value}
    [fault] = problem(api.post(jobs, body), 400, "bad_input")["errors"]
    with pytest.raises(BadInput) as documented:
        JobFields(data=body).checked()
    assert documented.value.errors == [Fault(**fault)]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("jobs?queue={queue}&workflow=5", "This must be an id."),
        ("jobs?queue={queue}&type=", "This must be a text that is not empty."),
        ("stats/queues/{queue}/series?minutes=５", "This must be a whole number."),
        ("stats/queues/{queue}/series?minutes=5.0", "This must be a whole number."),
        ("stats/queues/{queue}/series?minutes=0", "This must be between 1 and 1440."),
        ("stats/queues/{queue}/series?seconds=1", "There is no such field."),
        ("jobs?queue={queue}&created_after=2027-03-14T07:00:00", "Say the offset from UTC: Z or +02:00."),
    ],
)
def test_what_is_wrong_with_a_parameter(api, queue, path, said):
    [fault] = problem(api.get(path.format(queue=queue.pk)), 400)["errors"]
    assert fault["detail"] == said


def test_what_is_missing_is_said_alike(api, queue):
    for path, body in (
        (f"queues/{queue.pk}/jobs", {}),
        (f"queues/{queue.pk}/schedules", {"name": "x", "cron_expr": "@daily"}),
        (f"projects/{queue.project_id}/workflows", {"jobs": [{"name": "a", "type": "x"}]}),
        ("auth/login", {"email": "x"}),
    ):
        [fault] = problem(api.post(path, body), 400)["errors"]
        assert fault["detail"] == "This must be given.", path


def test_a_number_is_no_id(api, organization):
    refused = api.post(f"orgs/{organization.pk}/tokens", {"name": "x", "scopes": ["read"], "project": 5})
    assert problem(refused, 400)["errors"] == [{"pointer": "#/project", "detail": "This must be an id."}]
