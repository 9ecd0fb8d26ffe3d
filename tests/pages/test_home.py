"""The first page: what waits, what runs, what is wrong, what moved last."""

import re
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from apps.audit.models import Event, Head
from apps.queues.models import Queue
from apps.workers.models import Session
from tests import acts
from tests.factories import MembershipFactory, ProjectFactory, QueueFactory, SessionFactory, UserFactory
from tests.pages.looks import text_of


def test_it_sends_whoever_is_not_logged_in_to_the_door(client, project):
    response = client.get("/")
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


def test_it_tells_somebody_without_a_project_what_to_do(client, ground):
    client.force_login(UserFactory.create())
    assert "You are in no project yet" in text_of(client.get("/"))


def test_it_counts_what_waits_runs_and_died(viewer, queue, session):
    for _ in range(5):
        acts.enqueue(queue)
    acts.take(session, queue, limit=2)
    dead = acts.take_one(session, queue)
    acts.finish(session, dead, outcome="permanent_error", error_class="ValueError")
    page = text_of(viewer.get("/"))
    assert "2 waiting" in page
    assert "2 of 10 slots" in page
    assert "1 of 1 live" in page
    assert "Dead letters 1" in page


def test_a_queue_that_nobody_serves_is_called_stuck_and_says_why(viewer, queue):
    acts.enqueue(queue)
    page = text_of(viewer.get("/"))
    assert "stuck" in page
    assert "no live worker serves this queue" in page


def test_a_queue_whose_oldest_job_waits_too_long_is_called_late(viewer, queue, session):
    announce(session, acts.PING)
    acts.enqueue(queue)
    let_wait("20 minutes")
    page = text_of(viewer.get("/"))
    assert "late" in page
    assert "20 min" in page
    assert "no live worker takes its jobs" in page


def announce(session, *types):
    Session.objects.filter(pk=session.pk).update(types=list(types))


def let_wait(span):
    acts._run("UPDATE jobs_job_live SET run_at = clock_timestamp() - %s::interval", [span])


def test_types_that_no_live_worker_knows_are_named_once_a_deploy_would_be_over(viewer, queue, session):
    announce(session, acts.PING)
    acts.enqueue(queue, type="brand.new")
    assert "brand.new" not in text_of(viewer.get("/"))
    let_wait("31 seconds")
    page = text_of(viewer.get("/"))
    assert "stuck" in page
    assert "no live worker knows brand.new" in page
    acts.enqueue(queue)
    assert "late" in text_of(viewer.get("/"))  # the rest of the queue moves


def test_the_page_of_a_queue_lists_them_with_their_ages(viewer, queue, session):
    announce(session, "was.known")
    acts._run("UPDATE workers_session SET ended_at = clock_timestamp() - interval '2 hours'", [])
    announce(SessionFactory.create(), acts.PING)
    for kind in ("was.known", "was.known", "<b>new</b>"):
        acts.enqueue(queue, type=kind)
    acts.enqueue(queue)
    page = text_of(viewer.get(reverse("dashboard:queue", args=[queue.pk])))
    assert "Types no live worker knows Type Waiting Oldest Last known" in page
    assert re.search(r"was\.known 2 \S+ (s|ms) 2 h ago <b>new</b> 1 \S+ (s|ms) never They wait", page), page


def test_and_says_nothing_of_them_where_all_are_known(viewer, queue, session):
    announce(session, acts.PING)
    acts.enqueue(queue)
    assert "Types no live worker knows" not in text_of(viewer.get(reverse("dashboard:queue", args=[queue.pk])))


def test_a_worker_that_fell_silent_is_missed(viewer, queue, session):
    acts.fall_silent(session)
    page = text_of(viewer.get("/"))
    assert "0 of 1 live" in page
    assert f"{session.worker.uid} silent since" in page


def test_a_pause_that_is_over_is_no_pause(viewer, queue):
    past = timezone.now() - timedelta(minutes=1)
    Queue.objects.filter(pk=queue.pk).update(paused_at=past - timedelta(hours=1), paused_until=past)
    assert "paused" not in text_of(viewer.get("/"))


def test_the_jobs_that_moved_last_come_first_and_the_stream_goes_on_from_there(viewer, queue):
    first, second = acts.enqueue(queue, type="first.one"), acts.enqueue(queue, type="second.one")
    _moved(queue, second, seq=1)
    _moved(queue, first, seq=2)
    page = viewer.get("/").content.decode()
    assert 'data-after="2"' in page
    assert page.index("first.one") < page.index("second.one")


def test_rows_of_jobs_that_moved_are_those_of_this_project_only(viewer, queue):
    mine = acts.enqueue(queue, type="mine.one")
    theirs = acts.enqueue(QueueFactory.create(), type="theirs.one")
    rows = text_of(viewer.get("/moved", {"id": [str(mine), str(theirs), "nonsense"]}))
    assert "mine.one" in rows
    assert "theirs.one" not in rows


def test_one_can_change_to_another_project_and_it_is_remembered(client, project):
    membership = MembershipFactory.create(organization=project.organization)
    other = ProjectFactory.create(organization=project.organization, name="Zebra")
    client.force_login(membership.user)
    assert "<h1>Zebra</h1>" in client.get("/", {"project": str(other.pk)}).content.decode()
    assert "<h1>Zebra</h1>" in client.get("/").content.decode()


def test_a_worker_of_another_organization_is_not_shown(viewer, queue):
    theirs = SessionFactory.create(worker__organization=ProjectFactory.create().organization)
    assert theirs.worker.uid not in text_of(viewer.get("/workers"))


def test_it_reads_a_thousand_jobs_and_a_hundred_queues_in_few_statements(
    viewer, project, django_assert_max_num_queries
):
    queues = [QueueFactory.create(project=project) for _ in range(100)]
    for queue in queues[:10]:
        acts.enqueue(queue)
    with django_assert_max_num_queries(12):
        viewer.get("/")


def _moved(queue: Queue, job_id, *, seq: int) -> None:
    Event.objects.create(
        project_id=queue.project_id, first_seq=seq, last_seq=seq, at=timezone.now(), kind="job.moved", job_ids=[job_id]
    )
    Head.objects.update_or_create(project_id=queue.project_id, defaults={"seq": seq})
