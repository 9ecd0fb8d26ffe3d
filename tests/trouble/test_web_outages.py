"""The database ends the connections of a web process that trusts them: no request that comes after is refused for it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from apps.accounts.models import Role, TokenKind
from apps.jobs.models import Job
from tests.factories import ApiTokenFactory, MembershipFactory
from tests.processes import until
from tests.trouble.servers import free_port
from tests.trouble.test_web import Web, ask

pytestmark = pytest.mark.chaos
LATELY = 20  # requests, after which each pooled connection has just answered


@pytest.fixture
def web(site, tmp_path) -> Iterator[Web]:
    made = Web(site.database.url, tmp_path / "web.log", ports=[free_port()])
    try:
        for port in made.ports:
            made.start(port)
            until(partial(made.answers, port), what=made.log.read_text, within=60)
        yield made
    finally:
        for port in list(made.running):
            made.kill(port)


@pytest.fixture
def token(site) -> str:
    user = MembershipFactory.create(organization=site.queue.project.organization, role=Role.MEMBER).user
    made: Any = ApiTokenFactory.create(kind=TokenKind.LOGIN, user=user, organization=None, scopes=[])
    return str(made.text)


def submit(site: Any, web: Web, token: str, name: str) -> None:
    for number in range(LATELY):
        answer = ask(web.ports[0], token, site.queue, '{"type": "noop"}', f"{name}-{number}")
        assert answer
        assert answer[0] == 201, answer


def gone(site: Any) -> bool:
    """Whether those that were told to end have ended."""
    with site.server.admin() as admin:
        asked = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'fencepost'"
        return admin.execute(asked).fetchone() is None


def test_backends_that_are_terminated_between_requests_cost_none_of_them(site, web, token):
    before = Job.objects.count()
    submit(site, web, token, "first")
    for turn in range(5):
        assert site.server.terminate("fencepost") > 0
        until(partial(gone, site), what=web.log.read_text)
        site.forget_connections()
        submit(site, web, token, f"turn-{turn}")
    assert Job.objects.count() == before + 6 * LATELY


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_between_requests_costs_none_of_them(site, web, token, mode):
    submit(site, web, token, f"before-{mode}")
    site.server.restart(mode)
    site.forget_connections()
    submit(site, web, token, f"after-{mode}")
