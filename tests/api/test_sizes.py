"""Cases H3 and H5: sizes hang on what is documented, not on what a notification or a statement can hold."""

import pytest

from apps.jobs.models import Batch, Job
from tests.api.caller import Api, pointers, problem

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("payload", ["x" * 7_900, "x" * 8_000, "x" * 8_100, "€" * 2_666, "€" * 2_667, "x" * 262_142])
def test_no_payload_hangs_on_what_a_notification_holds(api, jobs, payload):
    made = api.post(jobs, {"type": "echo", "payload": payload})
    assert made.status_code == 201
    assert api.get(f"jobs/{made.json()['id']}").json()["payload"] == payload


def test_a_payload_beyond_the_limit_is_refused_with_the_limit(api, jobs):
    body = problem(api.post(jobs, {"type": "echo", "payload": "x" * 1_000_000}), 400)
    assert body["errors"][0]["pointer"] == "#/payload"
    assert "262144" in body["detail"]


@pytest.mark.parametrize("length", [57, 58, 63, 64, 128])
def test_a_queues_name_may_be_long_and_look_like_another(api, project, length):
    names = ["q" * (length - 1) + last for last in "ab"]
    queues = [api.post(f"projects/{project.pk}/queues", {"name": name}).json() for name in names]
    assert [queue["name"] for queue in queues] == names
    job = api.post(f"queues/{queues[0]['id']}/jobs", {"type": "echo"}).json()["id"]
    assert [row["id"] for row in api.get(f"jobs?queue={queues[0]['id']}").json()["results"]] == [job]
    assert api.get(f"jobs?queue={queues[1]['id']}").json()["results"] == []


@pytest.mark.parametrize("name", ["a b", "a'b", 'a"b', "a;b", "a%b", "Upper", "😀", "a" * 129, "", "\u0000"])
def test_a_name_that_cannot_stand_in_an_address_is_refused(api, project, name):
    assert set(pointers(api.post(f"projects/{project.pk}/queues", {"name": name}))) == {"#/name"}


@pytest.mark.parametrize("count", [1, 600, 1000])
def test_a_batch_is_made_whole(api, jobs, count):
    made = api.post(f"{jobs}/batch", {"jobs": [{"type": "noop"}] * count})
    assert made.status_code == 201
    assert len({one["id"] for one in made.json()["jobs"]}) == count == Job.objects.count()


@pytest.mark.parametrize("count", [0, 1001, 6_553, 6_554, 65_536, 100_000])
def test_a_batch_beyond_the_limit_makes_nothing_and_names_it(api, jobs, count):
    body = problem(api.post(f"{jobs}/batch", {"jobs": [{"type": "noop"}] * count}), 400)
    assert body["errors"][0]["pointer"] == "#/jobs"
    assert "1000" in body["detail"]
    assert not Job.objects.exists()


def test_one_bad_job_of_a_thousand_is_named_and_none_is_made(api, jobs):
    batch = [{"type": "noop"} for _ in range(1000)]
    batch[500] = {"type": "noop", "priority": "x"}
    assert pointers(api.post(f"{jobs}/batch", {"jobs": batch})) == ["#/jobs/500/priority"]
    batch[500] = {"type": "noop", "colour": "x"}
    assert pointers(api.post(f"{jobs}/batch", {"jobs": batch})) == ["#/jobs/500/colour"]
    assert not Job.objects.exists()
    assert not Batch.objects.exists()


def test_a_key_given_twice_in_one_batch_is_one_job_and_says_so(api, jobs):
    one = {"type": "noop", "unique_key": "u"}
    made = api.post(f"{jobs}/batch", {"jobs": [one, {"type": "noop"}, one]}).json()["jobs"]
    assert made[0]["id"] == made[2]["id"]
    assert [job["is_new"] for job in made] == [True, True, False]


def test_seventy_thousand_parents_are_refused_with_the_limit(api, jobs):
    parent = api.post(jobs, {"type": "noop"}).json()["id"]
    parents = [f"{parent[:-5]}{number:05x}" for number in range(70_000)]
    body = problem(api.post(jobs, {"type": "noop", "depends_on": parents}), 400)
    assert body["errors"][0]["pointer"] == "#/depends_on"
    assert "1000" in body["detail"]


@pytest.mark.parametrize("body", [{}, {"jobs": None}, {"jobs": {}}, {"jobs": [1]}, {"jobs": [None]}, {"jobs": ["x"]}])
def test_what_is_no_batch_is_refused(api, jobs, body):
    assert pointers(api.post(f"{jobs}/batch", body))[0].startswith("#/jobs")


def test_a_batch_takes_no_other_fields(api, jobs):
    problem(api.post(f"{jobs}/batch", {"jobs": [{"type": "x"}], "on_end": "reject_item"}), 400, "unknown_field")


def test_a_body_beyond_its_limit_is_413(api: Api, jobs):
    problem(api.post(f"{jobs}/batch", b'{"jobs": [%s]}' % (b" " * 8_388_608)), 413, "too_large")
