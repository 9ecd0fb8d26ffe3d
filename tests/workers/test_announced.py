"""What a worker says of itself: the code it runs, what its machine can do, and how that machine does."""

import asyncio
import json
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from apps.errors import BadInput
from apps.jobs.engine.heartbeat import heartbeat
from apps.runtime.services import announce
from apps.runtime.supervisor import sampling
from apps.runtime.supervisor.sampling import Sampling
from apps.workers.engine.register import register
from apps.workers.models import Session
from apps.workers.selectors import Said
from tests.factories import MembershipFactory

SAMPLE: dict[str, dict[str, Any]] = {
    "processor": {"percent": 12.5, "load": [0.5, 0.4, 0.3], "cores": 2},
    "memory": {"total": 8 * 2**30, "available": 2 * 2**30, "rss": 100 * 2**20},
    "disk": {"total": 2**40, "free": 2**39},
}


def describe():
    """A hook of a deployment's own."""
    return {"gpu": "L4", "lanes": 4}


def stumble():
    raise OSError("no such device")


def answer_nothing():
    return None


# Which code


def test_the_version_is_the_projects_unless_it_is_said():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert announce.version() == project["version"]
    assert announce.version("2027.3") == "2027.3"


@pytest.mark.parametrize("said", ["x" * 129, "a\nb", "a\x00b"])
def test_a_version_that_cannot_be_kept_is_refused(said):
    with pytest.raises(BadInput, match="--code-version"):
        announce.version(said)


# What it can do


def test_capabilities_are_set_and_a_hooks_keys_win(settings):
    assert announce.capabilities() == {}
    settings.CAPABILITIES = '{"gpu": "none", "ffmpeg": true}'
    assert announce.capabilities() == {"gpu": "none", "ffmpeg": True}
    settings.CAPABILITIES_HOOK = f"{__name__}.describe"
    assert announce.capabilities() == {"gpu": "L4", "ffmpeg": True, "lanes": 4}


@pytest.mark.parametrize(
    "said", ["{", "[1]", "null", '{"x": NaN}', '{"x": "\\u0000"}', '{"x": "\\ud800"}', json.dumps({"x": "y" * 9000})]
)
def test_what_is_no_catalogue_is_refused_with_its_setting(settings, said):
    settings.CAPABILITIES = said
    with pytest.raises(BadInput, match="CAPABILITIES"):
        announce.capabilities()


@pytest.mark.parametrize("hook", ["stumble", "answer_nothing", "is_not_there"])
def test_a_hook_that_fails_is_refused_with_its_name(settings, hook):
    settings.CAPABILITIES_HOOK = f"{__name__}.{hook}"
    with pytest.raises(BadInput, match="CAPABILITIES_HOOK"):
        announce.capabilities()


# How the machine does


async def test_a_sample_has_processor_memory_and_disk(settings, tmp_path):
    settings.RESULTS_DIR = tmp_path / "not" / "there" / "yet"
    sample = json.loads(await Sampling(every=60).take() or "null")
    assert {part: list(said) for part, said in sample.items()} == {part: list(said) for part, said in SAMPLE.items()}
    assert 0 < sample["memory"]["rss"] < sample["memory"]["total"]
    assert 0 < sample["disk"]["free"] <= sample["disk"]["total"]
    assert sample["processor"]["cores"] >= 1


async def test_beats_that_come_for_progress_measure_nothing():
    often, seldom = Sampling(every=0), Sampling(every=60)
    assert [bool(await often.take()) for _ in range(3)] == [True, True, True]
    assert [bool(await seldom.take()) for _ in range(3)] == [True, False, False]


async def test_a_disk_that_does_not_answer_costs_no_heartbeat(monkeypatch):
    answers = threading.Event()
    measured = []

    def measure():
        measured.append(threading.current_thread())
        answers.wait(20)
        return SAMPLE

    monkeypatch.setattr(sampling, "measure", measure)
    one = Sampling(every=0)
    began = time.monotonic()
    assert [await one.take(), await one.take()] == [None, None]
    assert time.monotonic() - began < 4 * sampling.PATIENCE
    assert len(measured) == 1  # nobody asks a second time while the first is stuck
    answers.set()
    measured[0].join(20)
    await asyncio.sleep(0)  # the answer is on its way to the loop
    assert json.loads(await one.take() or "null") == SAMPLE


async def test_a_machine_that_cannot_be_measured_is_only_logged(monkeypatch):
    def measure():
        raise OSError("gone")

    monkeypatch.setattr(sampling, "measure", measure)
    assert await Sampling(every=0).take() is None


def test_a_sample_is_read_in_words():
    said = Said.of(SAMPLE)
    assert said
    assert " ".join(said.words).replace("\xa0", " ") == (
        "processor 12 % of 2 cores load 0.50 uses 100.0 MB 2.0 GB of 8.0 GB memory free 512.0 GB of 1.0 TB disk free"
    )


@pytest.mark.parametrize(
    "sample", [None, [], "x", {}, {"processor": 7, "memory": {"rss": "much"}, "disk": []}, {"processor": {"load": {}}}]
)
def test_what_a_remote_worker_made_up_is_shown_as_nothing(sample):
    said = Said.of(sample)
    assert not said or said.words == []


# Where it is kept and shown


@pytest.fixture
def session(ground) -> Session:
    said = {"version": "2027.3", "capabilities": {"gpu": "L4<b>"}, "sample": json.dumps(SAMPLE)}
    made = register(uid="press-1", concurrency=4, lease_seconds=30, hostname="box", pid=7, **said)  # type: ignore[arg-type]
    return Session.objects.get(pk=made.session_id)


def test_a_session_keeps_all_three_and_the_heartbeat_renews_the_sample(session):
    assert (session.version, session.capabilities, session.sample) == ("2027.3", {"gpu": "L4<b>"}, SAMPLE)
    heartbeat(session_id=session.pk, held={})
    session.refresh_from_db()
    assert session.sample == SAMPLE
    heartbeat(session_id=session.pk, held={}, sample='{"disk": null}')
    session.refresh_from_db()
    assert session.sample == {"disk": None}


@pytest.mark.parametrize("address", ["worker", "session"])
def test_the_admin_shows_them(session, address, admin_client):
    row = session.worker if address == "worker" else session
    body = admin_client.get(reverse(f"admin:workers_{address}_change", args=[row.pk])).content.decode()
    assert "2027.3" in body
    assert "processor 12 % of 2 cores" in body
    assert "L4&lt;b&gt;" in body


def test_so_does_the_page_of_workers(session, project, client, user):
    MembershipFactory.create(organization=project.organization, user=user)
    client.force_login(user)
    body = client.get("/workers").content.decode()
    assert "2027.3" in body
    assert "processor 12 % of 2 cores" in body
    assert "gpu: L4&lt;b&gt;" in body
