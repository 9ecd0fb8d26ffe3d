"""Payloads come back as they were given, digit for digit, or are refused at the door; nothing is cut."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings

from apps.errors import BadInput
from apps.jobs import services
from apps.jobs.models import Job
from tests.acts import finish, take_one
from tests.jobs.looks import look

LIMIT = settings.PAYLOAD_MAX_BYTES


def submit(queue, payload):
    return services.submit(queue=queue, type="ping", payload=payload)


def assert_refused(queue, payload, why=""):
    with pytest.raises(BadInput, match=why) as refusal:
        submit(queue, payload)
    assert [fault.pointer for fault in refusal.value.errors] == ["#/payload"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("payload", [{"a": "x\x00y"}, {"\x00k": 1}, {"l": [[["\x00"]]]}, "\x00", ["a", {"b": "\x00"}]])
def test_a_nul_is_refused_wherever_it_hides(queue, payload):
    assert_refused(queue, payload, "NUL")


@pytest.mark.parametrize("payload", [{"a": "\ud800"}, {"\udfff": 1}, ["\ud83d"], "a\udc00"])
def test_a_lone_surrogate_is_refused(queue, payload):
    assert_refused(queue, payload, "surrogates")


@pytest.mark.parametrize(
    "text", ["\x1f", "\\u0000", "\ufffd", "😀", "\u2028", "'; DROP TABLE jobs_job; --", "%s %(x)s", "\x7f\x01"]
)
def test_a_text_that_only_looks_dangerous_comes_back(queue, session, text):
    job = submit(queue, {text: [text]})
    assert job.payload == {text: [text]}
    assert json.loads(take_one(session, queue).payload) == {text: [text]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 1e400, -1e400])
def test_what_is_no_number_in_json_is_refused(queue, number):
    assert_refused(queue, {"x": [number]}, "NaN and Infinity")


@pytest.mark.parametrize("digits", [4300, 5000])
def test_a_number_of_thousands_of_digits_is_refused(queue, digits):
    assert_refused(queue, {"x": 10**digits}, "too many digits")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63, 2**64 + 1, 10**100 + 1, 10**1000 + 7])
def test_a_big_integer_is_the_same_digit_for_digit(queue, session, number):
    job = submit(queue, {"id": number})
    assert look(job.id).payload == {"id": number}
    assert take_one(session, queue).payload == f'{{"id": {number}}}'


def test_small_numbers_keep_their_kind_and_their_digits(queue, session):
    submit(queue, {"d": 0.1, "e": 1.0, "f": -0.0, "g": 1e-7, "h": 5e-324, "i": True, "j": 1, "k": 0.30000000000000004})
    back = json.loads(take_one(session, queue).payload)
    assert back == {"d": 0.1, "e": 1.0, "f": 0.0, "g": 1e-7, "h": 5e-324, "i": True, "j": 1, "k": 0.30000000000000004}
    assert isinstance(back["e"], float)
    assert isinstance(back["j"], int)
    assert back["i"] is True


@pytest.mark.parametrize(
    "payload", [None, True, 0, "", "text", [], {}, [None], {"": None}, {"a": {"b": [1, {"c": None}]}}]
)
def test_any_json_value_is_a_payload(queue, session, payload):
    job = submit(queue, payload)
    assert look(job.id).payload == payload
    assert json.loads(take_one(session, queue).payload) == payload


@pytest.mark.parametrize("payload", [{1: "a"}, {None: 1}, {"a": {(1, 2): 3}}])
def test_keys_must_be_texts(queue, payload):
    assert_refused(queue, payload, "Keys must be texts")


@pytest.mark.parametrize("payload", [{1, 2}, b"bytes", Decimal("1.10"), {"a": object()}])
def test_what_json_has_no_word_for_is_refused(queue, payload):
    assert_refused(queue, payload, "is not JSON")


@pytest.mark.parametrize("text", ["x" * 7_900, "x" * 8_000, "x" * 8_100, "€" * 2_666, "€" * 2_667])
def test_no_payload_is_too_long_for_a_notification(queue, session, text):
    submit(queue, text)
    assert json.loads(take_one(session, queue).payload) == text


def test_a_payload_of_the_limit_fits_and_one_byte_more_is_refused_with_both_numbers(queue):
    assert_refused(queue, "x" * (LIMIT - 1), f"{LIMIT + 1} bytes; the limit is {LIMIT}")
    assert len(submit(queue, "x" * (LIMIT - 2)).payload) == LIMIT - 2


def test_bytes_are_counted_not_characters(queue):
    assert_refused(queue, "€" * (LIMIT // 3), "the limit")


def test_a_million_characters_are_refused(queue):
    assert_refused(queue, "x" * 1_000_000, "the limit")


def test_a_deep_payload_is_refused_before_it_breaks_anything(queue):
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert_refused(queue, deep, "Nested deeper")
    fits: list[Any] = []
    for _ in range(settings.JSON_MAX_DEPTH - 2):
        fits = [fits]
    assert submit(queue, fits).payload == fits


def test_a_payload_that_holds_itself_is_refused(queue):
    loop: list[Any] = []
    loop.append(loop)
    assert_refused(queue, loop, "Nested deeper")


def test_a_result_keeps_its_digits_too(queue, session):
    job = submit(queue, {})
    finish(session, take_one(session, queue), result=f'{{"id": {2**64 + 1}, "e": 1.0}}')
    assert look(job.id).result == {"id": 2**64 + 1, "e": 1.0}
