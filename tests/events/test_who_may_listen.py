"""Who may follow a project, and for how long."""

from importlib import import_module
from urllib.parse import urlparse

import pytest
from asgiref.sync import sync_to_async
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connection

from apps.accounts.models import Membership
from apps.events import consumers
from tests.events.conftest import ORIGIN, atell
from tests.factories import ApiTokenFactory, MembershipFactory, ProjectFactory

pytestmark = pytest.mark.usefixtures("own_database")


@pytest.fixture
def member(project):
    return MembershipFactory.create(organization=project.organization, role="viewer")


def log_in(user):
    """A session as the log-in page leaves it; answers it and its Cookie header."""
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return session, (b"cookie", f"{settings.SESSION_COOKIE_NAME}={session.session_key}".encode())


async def code_of(socket):
    """The code an accepted socket is closed with."""
    assert (await socket.connect(timeout=10))[0]
    return await socket.code()


async def test_a_token_is_told_which_protocol_was_chosen(reader, token):
    socket = reader(token)
    assert await socket.connect() == (True, "fencepost.v1")
    await socket.disconnect()


async def test_a_session_with_an_allowed_origin_may(reader, member):
    _, cookie = await sync_to_async(log_in)(member.user)
    socket = reader(headers=[cookie, ORIGIN])
    assert (await socket.connect(timeout=10))[0]
    assert (await socket.frame())["kind"] == "hello"
    await socket.disconnect()


ELSEWHERE = ["https://evil.example", "http://localhost.evil.example", "http://localhost:8001", "null", "", "http://"]


@pytest.mark.parametrize("origin", [None, *ELSEWHERE])
async def test_a_session_from_elsewhere_is_not_even_accepted(reader, member, origin):
    _, cookie = await sync_to_async(log_in)(member.user)
    socket = reader(headers=[cookie] if origin is None else [cookie, (b"origin", origin.encode())])
    assert not (await socket.connect(timeout=10))[0]


@pytest.mark.parametrize(
    ("https", "host", "origin", "may"),
    [
        (True, "localhost", "https://localhost", True),
        (True, "localhost", "http://localhost", False),
        (False, "localhost:8000", "http://localhost:8000", True),
        (False, "LOCALHOST", "http://localhost", True),
        (False, "evil.example", "http://evil.example", False),
        (False, "", "http://localhost", False),
        (True, "localhost", "https://ops.example.com", True),
        (True, "localhost", "http://ops.example.com", False),
    ],
)
def test_a_site_is_its_scheme_host_and_port(settings, https, host, origin, may):
    from config.asgi import _origins

    settings.HTTPS, settings.ALLOWED_ORIGINS = https, ["https://ops.example.com"]
    allowed = OriginValidator(None, _origins({"headers": [(b"host", host.encode())]}))
    assert allowed.valid_origin(urlparse(origin)) == may


@pytest.mark.parametrize("text", [None, "", "fp_nonsense", "x" * 5000])
async def test_nobody_is_told_to_log_in(reader, text):
    assert await code_of(reader(text, headers=[ORIGIN])) == 4401


async def test_a_strangers_project_is_not_there(reader, token):
    theirs = await sync_to_async(ProjectFactory.create)()
    assert await code_of(reader(token, of=theirs)) == 4404


async def test_a_token_of_one_project_does_not_open_another(reader, project, member):
    def make():
        other = ProjectFactory.create(organization=project.organization)
        return ApiTokenFactory.create(user=member.user, organization=project.organization, project=other)

    assert await code_of(reader(await sync_to_async(make)())) == 4404


async def test_a_token_that_does_not_cover_reading_is_refused(reader, project, member):
    token = await sync_to_async(ApiTokenFactory.create)(
        user=member.user, organization=project.organization, scopes=["worker"]
    )
    assert await code_of(reader(token)) == 4403


async def test_a_revoked_token_closes_the_socket(reader, token, project, monkeypatch):
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.2)
    socket = reader(token)
    await socket.connect()
    await socket.frame()
    await sync_to_async(token.delete)()
    assert await socket.code() == 4401


async def test_a_member_who_was_removed_hears_no_more(reader, token, project, monkeypatch):
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.2)
    socket = reader(token)
    await socket.connect()
    await socket.frame()
    await Membership.objects.all().adelete()
    assert await socket.code() == 4404


@pytest.mark.parametrize("way", ["logout", "password", "inactive"])
async def test_a_session_that_ends_closes_the_socket(reader, member, monkeypatch, way):
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.2)
    session, cookie = await sync_to_async(log_in)(member.user)
    socket = reader(headers=[cookie, ORIGIN])
    await socket.connect(timeout=10)
    await socket.frame()

    def end():
        if way == "logout":
            session.flush()
        elif way == "password":
            member.user.set_unusable_password()
            member.user.save()
        else:
            type(member.user).objects.update(is_active=False)

    await sync_to_async(end)()
    assert await socket.code() == 4401


async def test_while_it_may_it_is_pinged(reader, token, monkeypatch):
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.1)
    socket = reader(token)
    await socket.connect()
    _, ping, again = await socket.frames(3)
    assert (ping["kind"], again["kind"], ping["seq"]) == ("ping", "ping", 0)
    await socket.send_to(text_data="ping")
    while (said := await socket.receive_from(timeout=10)) != "pong":
        assert "ping" in said
    await socket.disconnect()


async def test_a_cursor_older_than_the_log_is_told_what_is_held(reader, token, project):
    await atell(project, jobs=3)
    await atell(project, jobs=3)
    await sync_to_async(_forget)(first_seq=1)
    socket = reader(token, query="after=2")
    await socket.connect()
    frame = await socket.frame()
    assert (frame["code"], frame["oldest"], frame["head"]) == ("cursor_too_old", 4, 6)
    assert await socket.code() == 4409


async def test_the_oldest_cursor_that_misses_nothing_is_taken(reader, token, project):
    await atell(project, jobs=3)
    await atell(project, jobs=3)
    await sync_to_async(_forget)(first_seq=1)
    socket = reader(token, query="after=3")
    await socket.connect()
    assert [frame["seq"] for frame in (await socket.frames(4))[1:]] == [4, 5, 6]
    await socket.disconnect()


@pytest.mark.parametrize("query", ["after=4", "after=1&timeline=000000FF"])
async def test_a_cursor_of_another_history_is_told_to_start_again(reader, token, project, query):
    await atell(project, jobs=3)
    socket = reader(token, query=query)
    await socket.connect()
    frame = await socket.frame()
    assert (frame["code"], frame["head"]) == ("cursor_ahead", 3)
    assert await socket.code() == 4409


@pytest.mark.parametrize("after", ["x", "-1", "1e3", "9" * 30, "٣"])
async def test_nonsense_for_a_cursor_is_refused(reader, token, after):
    assert await code_of(reader(token, query=f"after={after}")) == 4400


async def test_any_other_address_is_told_so(reader, token):
    socket = reader(token)
    socket.scope["path"] = "/nowhere"
    assert await code_of(socket) == 4404


def _forget(*, first_seq: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM audit_event WHERE first_seq = %s", [first_seq])


@pytest.mark.parametrize(
    ("sent", "code"),
    [({"text_data": "x" * 1025}, 1009), ({"text_data": "[" * 60_000}, 1009), ({"bytes_data": b"ping"}, 1003)],
)
async def test_who_sends_what_no_reader_sends_is_hung_up_on(listening, sent, code):
    await listening.send_to(**sent)
    assert await listening.code() == code


async def test_a_short_text_that_means_nothing_is_passed_over(listening):
    for text in ("pong", "{", "x" * 1024):
        await listening.send_to(text_data=text)
    await listening.send_to(text_data="ping")
    assert await listening.receive_from(timeout=10) == "pong"


async def test_while_the_secret_key_is_changed_nobody_is_logged_out(reader, member, settings):
    settings.SECRET_KEY = "an old key"
    session, cookie = await sync_to_async(log_in)(member.user)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key", ["an old key"]
    for _ in range(2):  # looking must leave the cookie good
        socket = reader(headers=[cookie, ORIGIN])
        await socket.connect(timeout=10)
        assert (await socket.frame())["kind"] == "hello"
        await socket.disconnect()
    settings.SECRET_KEY_FALLBACKS = []
    assert await code_of(reader(headers=[cookie, ORIGIN])) == 4401
