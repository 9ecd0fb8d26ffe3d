"""Whatever changes something for somebody leaves an entry: endpoints, pages, the admin, commands. Nothing can be forgotten:
what is new fails here until it does, or says in everything.py why it does not."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.management import call_command, get_commands
from django.test import Client
from django.urls import reverse

from apps.accounts.api.rules import RULES, Least
from apps.accounts.models import Role, User
from apps.audit.models import Entry
from apps.dashboard.urls import urlpatterns
from apps.queues.models import PausedType
from tests.acts import enqueue
from tests.api.caller import Api, login_of
from tests.api.world import ASKS, World, build
from tests.audit import everything
from tests.factories import PASSWORD, MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db
CHANGES = [(route, method) for route, methods in RULES.items() for method in methods if method != "GET"]
SAY_ALL = {"user.login", "user.logout", "user.register"}  # actions whose name says all there is to say
RECORDED = [one for one in CHANGES if one not in everything.UNRECORDED]


@pytest.fixture(autouse=True)
def cheap_passwords(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def results(settings, tmp_path) -> Any:
    settings.RESULTS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def world(organization, results) -> World:
    return build(organization, results)


@pytest.fixture
def owner(organization) -> User:
    user = UserFactory.create(password=PASSWORD, is_staff=True, is_superuser=True)
    return MembershipFactory.create(organization=organization, role=Role.OWNER, user=user).user


class Since:
    """The entries that have been made since."""

    def __init__(self) -> None:
        self.known = set(Entry.objects.values_list("pk", flat=True))

    def __iter__(self) -> Iterator[Entry]:
        return iter(Entry.objects.exclude(pk__in=self.known).order_by("id"))


def test_what_leaves_no_entry_is_still_there_and_says_why():
    assert set(everything.UNRECORDED) <= set(CHANGES)
    assert set(everything.COMMANDS) <= set(get_commands())
    assert all(everything.UNRECORDED.values())
    assert all(everything.COMMANDS.values())


@pytest.mark.parametrize(("route", "method"), RECORDED)
def test_every_endpoint_that_changes_something(route, method, world, owner):
    ask, api = ASKS[route, method], login_of(owner)
    everything.FIRST.get(route, lambda world: None)(world)
    ask.give(world, owner)
    if route == "auth-sessions":
        login_of(owner)
    body, status = everything.BODIES.get((route, method), lambda user: (ask.said(world), ask.status))(owner)
    since = Since()
    sent = api.send(method, ask.path(world), None if method == "DELETE" else body)
    assert sent.status_code == status, sent.content
    made = list(since)
    assert made, "it changed something and told nobody"
    assert {one.request_id for one in made} == {sent["X-Request-Id"]}
    assert {one.address for one in made} == {"127.0.0.1"}
    if RULES[route][method].least != Least.OPEN:
        assert {(one.actor, one.user_id) for one in made} == {(owner.email, owner.pk)}
    if isinstance(RULES[route][method].least, Role):
        assert {one.organization_id for one in made} == {world.org}
    assert [one.action for one in made if one.before is None and one.after is None and one.action not in SAY_ALL] == []


def test_a_refused_change_leaves_none(world, organization):
    member = MembershipFactory.create(organization=organization, role=Role.VIEWER).user
    since = Since()
    for route, method in CHANGES:
        if isinstance(RULES[route][method].least, Role):
            Api().send(method, ASKS[route, method].path(world))
            login_of(member).send(method, ASKS[route, method].path(world), ASKS[route, method].said(world))
    assert list(since) == []


PAGES = {str(one.name): one for one in urlpatterns}


def posts(name: str) -> bool:
    """Whether a page only takes POSTs."""
    kwargs = dict.fromkeys(PAGES[name].pattern.converters, "01a22856-3bac-754a-b89f-8e8e9e32e5c7")
    return Client().get(reverse(f"dashboard:{name}", kwargs=kwargs)).status_code == 405


def test_every_page_that_changes_something(world, owner):
    browser = Client()
    browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    silent = []
    for name in [one for one in PAGES if posts(one)]:
        everything.FIRST.get(name, lambda world: None)(world)
        kwargs = {key: getattr(world, _thing(name, key)) for key in PAGES[name].pattern.converters}
        form = {"project": str(world.project), **everything.FORMS.get(name, {})}
        since = Since()
        with _undone():
            answer = browser.post(reverse(f"dashboard:{name}", kwargs=kwargs), form)
            if not list(since):
                silent.append((name, answer.status_code))
    assert silent == []


def _thing(name: str, key: str) -> str:
    return everything.JOBS_OF_PAGES.get(name, key.removesuffix("_id"))


def _undone() -> Any:
    from tests.api.test_roles import undone

    return undone()


def test_every_button_and_action_of_the_admin(world, owner):
    browser = Client()
    browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    silent = []
    for model, console in admin.site._registry.items():
        for name in console.actions or ():
            if not _leaves_an_entry(browser, world, model, str(name), button=False):
                silent.append(f"{model.__name__}.{name}")
        for name in getattr(console, "row_buttons", ()):
            if not _leaves_an_entry(browser, world, model, name, button=True):
                silent.append(f"{model.__name__}.{name} (button)")
    assert silent == []


def _leaves_an_entry(browser: Client, world: World, model: Any, name: str, *, button: bool) -> bool:
    with _undone():
        everything.FIRST_OF_ADMIN.get((model.__name__, name), lambda world: None)(world)
        key, since = str(_row(world, model.__name__, name)), Since()
        place = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        if button:
            browser.post(reverse(f"{place}_{name}", args=[key]), everything.DATA_OF_ADMIN.get(name, {}))
        else:
            data = {"action": name, ACTION_CHECKBOX_NAME: [key], "index": "0", **everything.DATA_OF_ADMIN.get(name, {})}
            browser.post(reverse(f"{place}_changelist"), data)
        return bool(list(since))


def _row(world: World, model: str, name: str) -> Any:
    if model == "PausedType":
        return PausedType.objects.get().pk
    if name == "move_to_top":
        return enqueue(everything.queue_of(world))
    if model == "Job":
        return getattr(world, everything.JOBS_OF_ADMIN[name])
    if model == "Workflow":
        return getattr(world, everything.WORKFLOWS_OF_ADMIN.get(name, "workflow"))
    return getattr(world, "token" if model == "ApiToken" else model.lower())


def test_every_model_in_the_admin_is_a_console_of_ours():
    """What a package registers for itself changes rows and tells nobody."""
    from apps.audit.admin.console import Console

    assert [model for model, console in admin.site._registry.items() if not isinstance(console, Console)] == []


def test_every_command_that_changes_something(owner, monkeypatch):
    asked = set(get_commands()) - set(everything.COMMANDS)
    assert asked == {"createsuperuser", "changepassword"}
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "twelve angry staples")
    since = Since()
    call_command("createsuperuser", email="root@example.com", interactive=False)
    [made] = since
    assert (made.actor, made.action) == ("manage.py createsuperuser", "user.create")
    assert made.after == {"email": "root@example.com", "is_staff": True, "is_superuser": True}
    api, since = login_of(owner), Since()
    monkeypatch.setattr("getpass.getpass", lambda prompt="": "twelve angry staples")
    call_command("changepassword", owner.email)
    [made] = since
    assert (made.actor, made.action, made.target_id) == ("manage.py changepassword", "user.password", str(owner.pk))
    assert api.get("auth/me").status_code == 401


def test_secrets_are_never_told(world, owner, monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "twelve angry staples")
    call_command("createsuperuser", email="root@example.com", interactive=False)
    told = str(list(Entry.objects.values()))
    assert "root@example.com" in told
    hashes = [user.password for user in User.objects.all()]
    assert [secret for secret in ("twelve angry staples", *hashes) if secret in told] == []
