"""What a release may meet: a schema that is behind, modules that do not import, types that nobody knows, old names."""

import sys

import pytest
import structlog
from django.db.migrations.recorder import MigrationRecorder

from apps import handlers
from apps.errors import BadInput, Refusal
from apps.jobs import services
from apps.jobs.engine.unannounced import unannounced
from apps.runtime.services import discover
from apps.runtime.supervisor import Options
from apps.runtime.supervisor.noticing import AGAIN, EVERY, Noticing
from apps.runtime.supervisor.schema import refuse_older, unapplied
from apps.runtime.supervisor.state import State
from apps.runtime.supervisor.wire import Wire
from apps.workers.models import Session
from tests.acts import enqueue, fall_silent
from tests.factories import QueueFactory, SessionFactory, WorkerFactory
from tests.jobs.aims import workflow
from tests.jobs.test_reservations import bound

# The schema


def test_a_database_that_was_migrated_lacks_nothing(db):
    seen = set(MigrationRecorder.Migration.objects.values_list("app", "name"))
    assert unapplied(seen) == []
    refuse_older([*seen, ("jobs", "0099_of_the_next_release")])  # and one that is ahead serves an old worker


def test_what_it_lacks_is_named(db):
    seen = set(MigrationRecorder.Migration.objects.values_list("app", "name"))
    with pytest.raises(Refusal, match=r"lacks jobs\.0001_initial: run manage\.py migrate first"):
        refuse_older(seen - {("jobs", "0001_initial")})
    with pytest.raises(Refusal, match=r"and \d+ more"):
        refuse_older([])


# Modules and names


def test_a_handlers_module_that_does_not_import_is_named_with_the_line(tmp_path, monkeypatch):
    (tmp_path / "half_deployed.py").write_text("import os\n\nraise KeyError('GPU')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        Refusal, match=r"half_deployed cannot be imported: KeyError: 'GPU' \(.*half_deployed.py, line 3\)"
    ):
        discover._import("half_deployed")
    assert "half_deployed" not in sys.modules


def test_a_worker_of_some_types_takes_their_old_names_too(monkeypatch):
    monkeypatch.setattr(handlers, "_registry", {})

    @handlers.handler("image.scale", aliases=("image.shrink", "thumb"))
    def scale(ctx, payload):
        pass

    assert handlers.with_aliases(["image.scale"]) == ("image.scale", "image.shrink", "thumb")
    assert handlers.with_aliases(["thumb"]) == ("thumb", "image.scale", "image.shrink")
    assert handlers.with_aliases([]) == ()


@pytest.mark.parametrize("type", ["", "x" * 10_000, "a\x00b", None, 7])
def test_a_type_that_is_no_name_is_refused_at_the_door(queue, type):
    with pytest.raises(BadInput, match="type"):
        services.submit(queue=queue, type=type)


def test_a_type_that_looks_like_a_path_is_only_a_name(queue):
    assert services.submit(queue=queue, type="os.system", payload="true").state == "queued"
    assert handlers.find("os.system") is None


# What nobody announces


def names(queue) -> list[tuple[str, int]]:
    return [(one.type, one.jobs) for one in unannounced(queue_ids=[queue.pk])]


def announce(session, types, queues=(), **fields):
    Session.objects.filter(pk=session.pk).update(types=list(types), queues=[one.pk for one in queues], **fields)


def test_a_type_is_unknown_until_a_live_worker_of_the_queue_announces_it(queue, session):
    other = QueueFactory.create(project=queue.project)
    for _ in range(3):
        enqueue(queue, type="b")
    enqueue(queue, type="a")
    enqueue(other, type="b")
    assert sorted(names(queue)) == [("a", 1), ("b", 3)]
    announce(session, ["b", "c"])
    assert names(queue) == [("a", 1)]
    announce(session, ["a", "b"], [other])
    assert sorted(names(queue)) == [("a", 1), ("b", 3)]
    assert names(other) == []
    announce(session, ["a", "b"], [queue, other])
    assert names(queue) == []


def test_who_is_silent_leaving_or_of_another_organization_does_not_count(queue, session):
    enqueue(queue)
    announce(session, ["ping"])
    for fields in ({"draining": True}, {"fenced_at": session.started_at}, {"ended_at": session.started_at}):
        announce(session, ["ping"], **fields)
        assert names(queue) == [("ping", 1)], fields
        announce(
            session, ["ping"], **dict.fromkeys(fields, None) | ({"draining": False} if "draining" in fields else {})
        )
        assert names(queue) == []
    session.refresh_from_db()
    fall_silent(session)
    [one] = unannounced(queue_ids=[queue.pk])
    session.refresh_from_db()
    assert one.known_until == session.lease_expires_at
    stranger = SessionFactory.create(
        worker=WorkerFactory.create(organization=QueueFactory.create().project.organization)
    )
    announce(stranger, ["ping"])
    assert names(queue) == [("ping", 1)]


def test_a_worker_that_is_reserved_does_not_count_either(queue, session):
    announce(session, ["ping"])
    enqueue(queue)
    assert names(queue) == []
    bound(workflow(queue)[0], session)
    assert names(queue) == [("ping", 1)]


def test_what_is_not_queued_waits_for_no_worker(queue, session):
    services.submit(queue=queue, type="later", delay_seconds=3600)
    assert names(queue) == []


async def looks(noticing, *, later: float) -> list[list[str]]:
    """What is said by a look so many seconds after the last."""
    noticing.looked_at -= later
    with structlog.testing.capture_logs() as said:
        await noticing.look()
    return [line["types"] for line in said if "no live worker" in line["event"]]


async def test_a_worker_says_each_once_and_again_after_an_hour(noticing):
    assert await looks(noticing, later=0) == []
    assert await looks(noticing, later=EVERY) == [["t2 in acme/media/images (2)"]]
    assert await looks(noticing, later=EVERY) == []
    noticing.named = {key: at - AGAIN for key, at in noticing.named.items()}
    assert await looks(noticing, later=EVERY) == [["t2 in acme/media/images (2)"]]
    await noticing.wire.close()


@pytest.fixture
def noticing(arena, queue):
    """On a queue in which two jobs wait for the next release."""
    for _ in range(2):
        enqueue(queue, type="t2")
    state = State(Options(name="w"))
    state.queues = {queue.pk: "acme/media/images"}
    return Noticing(state, Wire("test"))
