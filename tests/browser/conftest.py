"""A server with sockets, a real browser, and somebody who is logged in.

What a page logs, and every line that the content policy refused, is gathered and must be nothing.
"""

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

from apps.accounts.models import Organization, Role, User
from tests import databases
from tests.databases import Database
from tests.factories import PASSWORD, MembershipFactory, OrganizationFactory
from tests.processes import Process, until

CHROMIUM = os.environ.get("CHROMIUM") or which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps an event loop in this thread
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def house(chromium, database_name, database_template, django_db_blocker) -> Iterator[Database]:
    """One database for all of them: each test brings an organization of its own."""
    with (
        django_db_blocker.unblock(),
        databases.clone(f"{database_name}_browser", template=database_template) as database,
    ):
        yield database


@pytest.fixture
def ground(house) -> None:
    """What the common fixtures stand on."""


@pytest.fixture
def organization(ground) -> Organization:
    return OrganizationFactory.create()


@pytest.fixture(scope="session")
def server(house, tmp_path_factory) -> Iterator[str]:
    """The address of one process that serves pages, API and sockets."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    process = Process("runserver", "--noreload", f"127.0.0.1:{port}", database=house, log=log)
    try:
        until(lambda: _listens(port) or process.popen.poll() is not None, within=30, what=lambda: process.output)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Visitor:
    """A page and what went wrong on it."""

    page: Page
    address: str
    user: User
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def overflows(self) -> bool:
        """Whether one would have to scroll sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.fixture
def visit(chromium, server, organization) -> Iterator[Callable[..., Visitor]]:
    """Log somebody of a role in, through the door."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def enter(role: Role = Role.MEMBER, **options) -> Visitor:
        user = MembershipFactory.create(organization=organization, role=role).user
        user.set_password(PASSWORD)
        user.is_staff = user.is_superuser = options.pop("staff", False)
        user.save()
        context = chromium.new_context(**options)
        contexts.append(context)
        visitor = Visitor(context.new_page(), server, user)
        visitors.append(visitor)
        _listen(visitor)
        page = visitor.go("/accounts/login/?next=/")
        page.get_by_label("Email").fill(user.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{server}/")
        return visitor

    yield enter
    complaints = [line for visitor in visitors for line in visitor.complaints]
    for context in contexts:
        context.close()
    assert complaints == []


def _listen(visitor: Visitor) -> None:
    """Errors of scripts, refusals of the policy, and answers that are no answer."""
    page, said = visitor.page, visitor.complaints

    def refuse(dialog: Dialog) -> None:
        said.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
    page.on("dialog", refuse)


@pytest.fixture
def shots() -> Path | None:
    """Where to leave pictures for people to look at: SHOTS=/some/folder."""
    folder = os.environ.get("SHOTS")
    return Path(folder) if folder else None
