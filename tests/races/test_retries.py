"""What the database throws out is tried again inside; what it cannot do now is 503 with a time to come again."""

import pytest
from django.db import connection, connections

from apps.accounts.models import Organization, Role
from tests.api.caller import Api, login_of, problem
from tests.factories import MembershipFactory

THROWN_OUT = {"deadlock": "40P01", "serialization failure": "40001", "lock not available": "55P03"}


@pytest.fixture
def api(own_database, organization: Organization) -> Api:
    return login_of(MembershipFactory.create(organization=organization, role=Role.OWNER).user)


def throw_out(times: int, state: str) -> None:
    """Let the database itself refuse the next few inserts of projects; a sequence counts, for it never rolls back."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE SEQUENCE turns")
        cursor.execute(
            "CREATE FUNCTION throw_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f"  IF nextval('turns') <= {times} THEN RAISE EXCEPTION 'planted' USING ERRCODE = '{state}'; END IF;"
            "  RETURN NEW; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER throw_out BEFORE INSERT ON accounts_project FOR EACH ROW EXECUTE FUNCTION throw_out()"
        )


def turns() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM turns")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("state", THROWN_OUT.values(), ids=THROWN_OUT)
def test_what_was_thrown_out_is_tried_again(api, organization, state):
    throw_out(4, state)
    assert api.post(f"orgs/{organization.pk}/projects", {"name": "new"}, key="k").status_code == 201
    assert turns() == 5
    assert organization.projects.count() == 1


def test_after_five_times_it_is_told(api, organization):
    throw_out(5, "40P01")
    answer = api.post(f"orgs/{organization.pk}/projects", {"name": "new"}, key="k")
    problem(answer, 503, "unavailable")
    assert answer["Retry-After"] == "1"
    assert turns() == 5
    assert api.post(f"orgs/{organization.pk}/projects", {"name": "new"}, key="k").status_code == 201


def test_what_would_fail_again_is_not_tried_again(api, organization):
    throw_out(5, "P0001")
    problem(api.post(f"orgs/{organization.pk}/projects", {"name": "new"}), 500, "internal_error")
    assert turns() == 1


def test_a_backend_that_was_terminated_is_not_noticed(api, own_database):
    with own_database.connect(autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert api.get("auth/me").status_code == 200


def test_a_database_that_is_away_is_503(api, monkeypatch):
    connections["default"].close()
    with monkeypatch.context() as away:
        away.setitem(connections["default"].settings_dict, "HOST", "127.0.0.1")
        away.setitem(connections["default"].settings_dict, "PORT", "1")
        answer = api.get("auth/me")
    problem(answer, 503, "unavailable")
    assert answer["Retry-After"] == "1"
    assert "127.0.0.1" not in answer.content.decode()
