"""No body is kept that is longer than one may be, whatever it is sent to and however its length is said."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from config.bodies import bounded

pytestmark = pytest.mark.django_db
MAX = 1000
PLACES = ["/accounts/login/", "/admin/login/", "/", "/nowhere", "/api/v1/auth/login", "/api/nowhere"]
CLAIM = "/api/v1/worker/sessions/01a22856-3bac-754a-b89f-8e8e9e32e5c7/claim"


@pytest.fixture(autouse=True)
def small(settings) -> None:
    settings.BODY_MAX_BYTES = MAX


@pytest.mark.parametrize("place", PLACES)
def test_a_form_with_a_large_file_is_refused_before_it_is_read(place, monkeypatch):
    monkeypatch.setattr("django.http.multipartparser.MultiPartParser.parse", lambda parser: pytest.fail("it was read"))
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "x" * 32
    answer = client.post(place, {"file": b"x" * MAX, "csrfmiddlewaretoken": "x" * 32})
    assert answer.status_code == 413
    assert answer["X-Request-Id"]
    if place.startswith("/api/"):
        assert (answer["Content-Type"], answer.json()["code"]) == ("application/problem+json", "too_large")


@pytest.mark.parametrize("length", ["1001", "9" * 30, "9" * 5000])
def test_a_length_that_is_said_is_taken_at_its_word(length):
    assert Client().post("/nowhere", CONTENT_LENGTH=length).status_code == 413


@pytest.mark.parametrize("length", ["", "-1", "x", "1e9", "٣", "1000"])
def test_what_is_no_length_or_short_enough_goes_on(length):
    assert Client().post("/nowhere", CONTENT_LENGTH=length).status_code in (403, 404)


def chunks(count: int, size: int = 100) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"type": "http.request", "body": b"x" * size, "more_body": number < count - 1}


async def ask(path: str, sent: Iterator[dict[str, Any]], *headers: tuple[bytes, bytes]) -> tuple[int, bytes]:
    """The answer of the asynchronous server, as a whole."""
    from config.asgi import application

    answer: list[dict[str, Any]] = []
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": [*headers]}

    async def hear() -> dict[str, Any]:
        for message in sent:
            return message
        return await asyncio.Future()

    async def say(message: dict[str, Any]) -> None:
        answer.append(message)

    async with asyncio.timeout(60):  # or what waits for more would wait for ever
        await application(scope, hear, say)
    return answer[0]["status"], b"".join(one.get("body", b"") for one in answer)


@pytest.mark.parametrize("path", ["/accounts/login/", "/api/v1/auth/login", CLAIM])
async def test_what_comes_without_a_length_is_counted(path):
    status, body = await ask(path, chunks(50), (b"transfer-encoding", b"chunked"))
    assert status == 413
    assert b"larger than 1000 bytes" in body


async def test_nothing_is_waited_for_of_what_is_said_to_be_long():
    assert (await ask("/accounts/login/", chunks(0), (b"content-length", b"5000")))[0] == 413


async def test_what_is_short_enough_comes_through():
    heard = bytearray()

    async def inner(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while (message := await receive())["more_body"]:
            heard.extend(message["body"])
        heard.extend(message["body"])

    sent = chunks(10)

    async def hear() -> dict[str, Any]:
        return next(sent)

    await bounded(inner)({"type": "http", "headers": []}, hear, hear)  # type: ignore[arg-type]
    assert len(heard) == MAX
