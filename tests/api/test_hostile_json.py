"""Case H1 and H2: what JSON, Python and PostgreSQL disagree about is refused at the door, with a pointer."""

import json

import pytest

from apps.jobs.models import Job
from tests.api.caller import pointers, problem

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (rb'{"type": "echo", "payload": {"a": "x\u0000y"}}', "#/payload/a"),
        (rb'{"type": "echo", "payload": {"\u0000k": 1}}', "#/payload/�k"),
        (rb'{"type": "echo", "payload": {"l": [[["\u0000"]]]}}', "#/payload/l/0/0/0"),
        (rb'{"type": "e\u0000cho"}', "#/type"),
        (rb'{"type": "echo", "labels": {"a": "\u0000"}}', "#/labels/a"),
        (rb'{"type": "echo", "payload": "\ud800"}', "#/payload"),
        (rb'{"type": "echo", "payload": {"\udfff": 1}}', "#/payload/?"),
        (b'{"type": "echo", "payload": {"x": NaN}}', "#/payload/x"),
        (b'{"type": "echo", "payload": {"x": -Infinity}}', "#/payload/x"),
        (b'{"type": "echo", "payload": {"x": 1e400}}', "#/payload/x"),
        (b'{"type": "echo", "payload": {"x": %s}}' % (b"9" * 5000), "#/payload/x"),
        (b'{"type": "echo", "payload": {"x": %s}}' % (b"9" * 4300), "#/payload"),
        (b'{"type": "echo", "payload": {"a": 1, "a": 2}}', "#/payload"),
        (b'{"type": "echo", "type": "echo"}', "#"),
        (b'{"type": "echo", "payload": %s1%s}' % (b"[" * 66, b"]" * 66), "#/payload"),
        (b'{"type": "echo", "payload": %s1%s}' % (b"[" * 80, b"]" * 80), "#/payload" + "/0" * 66),
        (b'{"type": "echo", "payload": %s' % (b"[" * 100_000), "#"),
        (b'{"type": "echo", "payload": "\xff"}', "#"),
        (b'{"type": "echo"', "#"),
        (b"[]", "#"),
        (b'"echo"', "#"),
        (b"NaN", "#"),
        (b'{"type": "echo", "payload": "raw \x00 byte"}', "#"),
    ],
    ids=lambda value: repr(value)[:48],
)
def test_hostile_json_is_refused_where_it_stands(api, jobs, body, pointer):
    assert pointers(api.post(jobs, body)) == [pointer]
    assert not Job.objects.exists()


@pytest.mark.parametrize("path", ["jobs?search=%00", "jobs?queue=a%00b", "jobs?cursor=%00", "dlq?error_class=%00"])
def test_nul_in_a_query_is_refused_by_name(api, queue, path):
    name = path.partition("?")[2].partition("=")[0]
    rest = "" if "queue=" in path else f"&queue={queue.pk}"
    assert f"?{name}" in pointers(api.get(path + rest))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("priority", "-2147483649"),
        ("priority", "2147483648"),
        ("priority", "32768"),
        ("priority", "1.5"),
        ("priority", "1e3"),
        ("priority", "true"),
        ("priority", '"７"'),
        ("priority", '"5"'),
        ("max_attempts", "0"),
        ("max_attempts", "-1"),
        ("max_attempts", "2147483648"),
        ("delay_seconds", "-1"),
        ("delay_seconds", "1e308"),
        ("run_at", '"2027-03-14T07:00:00"'),
        ("run_at", '"9999-12-31T23:59:59-23:59"'),
        ("timeout_ms", "0"),
        ("depends_on", '"x"'),
        ("depends_on", "[1]"),
        ("on_parent_failure", '"explode"'),
        ("labels", "[]"),
        ("unique_key", '""'),
    ],
)
def test_what_a_field_cannot_be_is_refused_by_name(api, jobs, field, text):
    refused = api.post(jobs, b'{"type": "echo", "%s": %s}' % (field.encode(), text.encode()))
    assert pointers(refused) == ["#/depends_on/0" if text == "[1]" else f"#/{field}"]


def test_numbers_come_back_digit_for_digit(api, jobs):
    sent = b'{"type": "echo", "payload": {"id": 9007199254740993, "d": 0.1, "e": 1.0, "n": -0.5e-7}}'
    made = api.post(jobs, sent)
    assert made.status_code == 201
    shown = api.get(f"jobs/{made.json()['id']}").content
    assert b'"id":9007199254740993' in shown.replace(b'"id":"', b"")
    assert json.loads(shown)["payload"] == json.loads(sent)["payload"]
    assert b'"e":1.0' in shown


@pytest.mark.parametrize("job", ["99999999999999999999", "x", "%00", "01a22856"])
def test_what_cannot_be_an_id_is_not_there(api, job):
    problem(api.get(f"jobs/{job}"), 404, "not_found")


@pytest.mark.parametrize("limit", ["-1", "0", "201", "1000000000", "９", "1.5", "", "%00"])
def test_a_limit_out_of_range_is_refused(api, queue, limit):
    assert pointers(api.get(f"jobs?queue={queue.pk}&limit={limit}")) == ["?limit"]


def test_a_parameter_given_twice_is_refused(api, queue):
    assert pointers(api.get(f"jobs?queue={queue.pk}&state=queued&state=running")) == ["?state"]


def test_a_body_of_another_type_is_refused(api, jobs):
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
    ):
        response = api.client.generic("POST", f"/api/v1/{jobs}", b'{"type": "echo"}', kind, headers=api.headers)
        problem(response, 415, "unsupported_media_type")


def test_a_packed_body_is_refused(api, jobs):
    problem(api.post(jobs, b"\x1f\x8b", **{"Content-Encoding": "gzip"}), 415)


def test_a_body_without_a_length_is_refused(api, jobs):
    response = api.client.generic(
        "POST",
        f"/api/v1/{jobs}",
        b"",
        "application/json",
        headers={**api.headers, "Transfer-Encoding": "chunked"},
    )
    problem(response, 411, "length_required")


def test_a_body_that_is_too_large_is_refused(api, jobs, settings):
    settings.BODY_MAX_BYTES = 1000
    assert "1000" in problem(api.post(jobs, {"type": "echo", "payload": "x" * 1000}), 413, "too_large")["detail"]


def test_a_payload_may_nest_as_deep_as_it_says_in_a_batch_too(api, jobs):
    deepest = b"[" * 64 + b"]" * 64
    assert api.post(jobs, b'{"type": "echo", "payload": %s}' % deepest).status_code == 201
    assert api.post(f"{jobs}/batch", b'{"jobs": [{"type": "echo", "payload": %s}]}' % deepest).status_code == 201
    assert pointers(api.post(jobs, b'{"type": "echo", "payload": [%s]}' % deepest)) == ["#/payload"]
