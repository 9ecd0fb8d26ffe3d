"""From each answer on to where its links lead, for minutes: no 500, and no answer outside the schema."""

import os
import random
import re
import sys
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from apps.accounts.models import Role
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts
from tests.api.caller import login_of, token_of
from tests.api.test_fuzz import CHECKS, SCHEMA, known_of
from tests.api.world import World, build
from tests.factories import MembershipFactory, OrganizationFactory, SessionFactory

pytestmark = pytest.mark.chaos
SECONDS = 15 if os.environ.get("SHORT") == "1" else 600
STEPS = 40  # of one walk, which begins with a tenant of its own
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
WALKS = settings(
    max_examples=3,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
dice = random.Random(6)  # noqa: S311 - which way to go


class Walk(SCHEMA.as_state_machine()):  # type: ignore[misc]
    """One owner's program in a tenant that has one of everything, with a worker beside it."""

    results: Any
    seen: Counter[tuple[str, int]]

    def setup(self) -> None:
        organization = OrganizationFactory.create()
        self.world = build(organization, self.results)
        self.session = SessionFactory.create()
        owner = MembershipFactory.create(organization=organization, role=Role.OWNER)
        self.headers = dice.choice([login_of(owner.user), token_of(owner, "admin", "worker")[0]]).headers
        self.ids = {str(one) for one in known_of(self.world).values()}

    def get_call_kwargs(self, case: Any) -> dict[str, Any]:
        return {"headers": self.headers}

    def before_call(self, case: Any) -> None:
        """Where no link has led to an id it is made up: mostly the tenant's own is put there instead."""
        known = known_of(self.world)
        for given in (case.path_parameters or {}, case.query or {}):
            for name in given.keys() & known.keys():
                if given[name] not in self.ids and dice.random() < 0.9:
                    given[name] = str(known[name])
        if dice.random() < 0.8:
            (case.query or {}).pop("cursor", None)  # one that is made up never fits
        if dice.random() < 0.2:
            work(self.world, self.session)

    def after_call(self, response: Any, case: Any) -> None:
        super().after_call(response, case)
        self.ids.update(ID.findall(response.text))
        self.seen[case.operation.label, response.status_code] += 1

    def validate_response(self, response: Any, case: Any, **options: Any) -> None:
        case.validate_response(response, checks=CHECKS)


def work(world: World, session: Session) -> None:
    """A worker takes what is next, ends some of it well, some badly, and keeps some."""
    for queue in Queue.objects.filter(pk=world.queue):
        for job in acts.take(session, queue, limit=2):
            if end := dice.choice(["success", "permanent_error", "retryable_error", None]):
                acts.finish(session, job, outcome=end)


def test_no_walk_along_the_links_gets_an_answer_outside_the_schema(own_database, results, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.AUTH_RATE_PER_MINUTE = 0
    Walk.results, Walk.seen = results, Counter()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        run_state_machine_as_test(Walk, settings=WALKS)
    linked = {label for label, _ in Walk.seen}
    good = {label for label, status in Walk.seen if status < 300}
    sys.stdout.write(
        f"{Walk.seen.total()} requests to {len(linked)} operations; {len(good)} did what they were asked\n"
    )
    assert len(good) > len(linked) * (0.2 if SECONDS < 600 else 0.9), sorted(Walk.seen.items())
