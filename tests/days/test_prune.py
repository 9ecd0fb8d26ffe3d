"""What is past its retention goes, and nothing else."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.accounts.engine.prune import prune as prune_keys
from apps.accounts.models import Idempotency
from apps.audit.engine import days
from apps.audit.engine.prune import prune as prune_events
from apps.audit.models import Event, Outbox
from apps.audit.relay import relay
from apps.jobs import services
from apps.jobs.engine import prune as module
from apps.jobs.engine.enqueue import NewJob
from apps.jobs.engine.enqueue import enqueue as enqueue_many
from apps.jobs.engine.partition import ATTEMPT, JOB
from apps.jobs.engine.prune import prune, prune_dead, prune_sessions
from apps.jobs.models import Attempt, Batch, Dependency, Job, Progress, Publication, Step, Workflow
from apps.workers.models import Session
from tests.acts import enqueue, finish, let_days_pass, let_events_age, take, take_one
from tests.factories import QueueFactory, SessionFactory
from tests.jobs.deletions import carry_out
from tests.jobs.looks import ANN
from tests.jobs.workflows import begin

pytestmark = pytest.mark.usefixtures("own_database")
LONG_AGO = settings.RETENTION_JOBS_DAYS + 1


@pytest.fixture
def done(queue, session):
    """Make a job that ended so many days ago."""

    def make(ago, *, of=queue, outcome="success", **fields):
        job_id = enqueue(of, **fields)
        finish(session, take_one(session, of), outcome=outcome)
        let_days_pass(job_id, ago)
        return job_id

    return make


def partition_names(table):
    return {part.name for part in days.existing(table)}


def day(ago):
    return datetime.now(UTC).date() - timedelta(days=ago)


def test_a_day_past_its_retention_is_dropped_with_its_ledger(done):
    done(LONG_AGO)
    kept = done(LONG_AGO - 1)
    gone = prune()
    assert JOB.partition(day(LONG_AGO)) in gone
    assert ATTEMPT.partition(day(LONG_AGO)) in gone
    assert list(Job.objects.values_list("id", flat=True)) == [kept]
    assert list(Attempt.objects.values_list("job_id", flat=True)) == [kept]


def test_a_second_time_there_is_nothing_to_do(done):
    done(LONG_AGO)
    assert prune()
    assert prune() == []


def test_a_queue_that_keeps_longer_keeps_its_day_and_only_its_own_jobs(queue, done):
    keeper = QueueFactory.create(project=queue.project, retention_days=400)
    kept = done(LONG_AGO, of=keeper)
    done(LONG_AGO)
    assert JOB.partition(day(LONG_AGO)) not in prune()
    assert [job.id for job in Job.objects.all()] == [kept]
    assert [entry.job_id for entry in Attempt.objects.all()] == [kept]


def test_a_queue_that_keeps_shorter_loses_only_its_own_jobs(queue, done):
    brief = QueueFactory.create(project=queue.project, retention_days=2)
    kept = done(3)
    done(3, of=brief)
    young = done(2, of=brief)
    prune()
    assert {job.id for job in Job.objects.all()} == {kept, young}
    assert {entry.job_id for entry in Attempt.objects.all()} == {kept, young}


def test_a_day_stays_while_a_live_job_hangs_on_one_of_its_jobs(queue, done):
    parent = done(LONG_AGO)
    blocker = enqueue(queue)
    child = enqueue(queue, depends_on=[blocker])
    Dependency.objects.create(parent_id=parent, child_id=child, settled_at=timezone.now())
    prune()
    assert Job.objects.filter(id=parent).exists()
    assert Attempt.objects.filter(job_id=parent).exists()


def test_edges_and_progress_go_with_the_job(queue, session, done):
    parent = enqueue(queue)
    [child] = [one.job_id for one in enqueue_many([NewJob(queue_id=queue.pk, type="ping", depends_on=[parent])])]
    finish(session, take_one(session, queue))
    Progress.objects.create(job_id=child, fence=1, attempt=1, at=timezone.now())
    finish(session, *take(session, queue))
    for job_id in (parent, child):
        let_days_pass(job_id, LONG_AGO)
    prune()
    assert not Job.objects.exists()
    assert not Dependency.objects.exists()
    assert not Progress.objects.exists()


@pytest.mark.parametrize("keeper", [False, True])
def test_a_transaction_deletes_a_bounded_number_of_edges_however_many_a_job_has(keeper, queue, done, monkeypatch):
    monkeypatch.setattr(module, "EDGES", 5)
    brief = QueueFactory.create(project=queue.project, retention_days=2)
    jobs = [done(3 if keeper else LONG_AGO, of=brief) for _ in range(6)]
    if keeper:
        done(3)
    for job_id in jobs:
        Dependency.objects.bulk_create(Dependency(parent_id=uuid4(), child_id=job_id) for _ in range(4))
    rounds = counted(monkeypatch, "_expired" if keeper else "_ties")
    prune()
    assert not Dependency.objects.exists()
    assert not Job.objects.filter(queue=brief).exists()
    assert rounds == [8, 8, 8]


def counted(monkeypatch, name):
    """How many edges go with each call of a statement that deletes any."""
    send, gone = getattr(module, name), []

    def call(**params):
        before = Dependency.objects.count()
        rows = send(**params)
        if left := before - Dependency.objects.count():
            gone.append(left)
        return rows

    monkeypatch.setattr(module, name, call)
    return gone


def test_dead_letters_with_many_edges_go_in_small_batches(queue, done, monkeypatch):
    monkeypatch.setattr(module, "EDGES", 5)
    for _ in range(3):
        dead = done(settings.RETENTION_DEAD_LETTER_DAYS + 1, outcome="permanent_error")
        Dependency.objects.bulk_create(Dependency(parent_id=uuid4(), child_id=dead) for _ in range(4))
    assert [prune_dead(), prune_dead(), prune_dead()] == [2, 1, 0]
    assert not Dependency.objects.exists()


def test_a_drop_that_a_crash_cut_short_is_finished(done):
    done(LONG_AGO)
    name = JOB.partition(day(LONG_AGO))
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE jobs_job DETACH PARTITION {name} CONCURRENTLY")
    assert name in partition_names(JOB)
    assert name in prune()
    assert name not in partition_names(JOB)


def test_a_detach_that_a_slow_reader_holds_up_is_finished_later(own_database, done, monkeypatch):
    """It gives up after 300 ms, nobody queues behind it, and the next round takes it up again."""
    job_id = done(LONG_AGO)
    monkeypatch.setattr(days, "TRIES", 1)
    with own_database.connect() as reader, own_database.connect(autocommit=True) as bystander:
        reader.execute("SELECT count(*) FROM jobs_job")
        with pytest.raises(Exception, match="lock timeout"):
            prune()
        bystander.execute("SET statement_timeout = '1s'")
        bystander.execute("SELECT count(*) FROM jobs_job WHERE id = %s", (job_id,))
    monkeypatch.undo()
    assert JOB.partition(day(LONG_AGO)) in prune()


def test_the_log_is_kept_for_its_own_time(queue, done):
    done(0)
    relay()
    let_events_age(settings.RETENTION_EVENTS_DAYS)
    assert [name for name in prune_events() if name.endswith(f"{day(settings.RETENTION_EVENTS_DAYS):%Y%m%d}")] == []
    assert Event.objects.exists()
    let_events_age(1)
    prune_events()
    assert not Event.objects.exists()


def test_dead_letters_are_discarded_with_an_event(queue, done):
    kept = done(settings.RETENTION_DEAD_LETTER_DAYS - 1, outcome="permanent_error")
    gone = done(settings.RETENTION_DEAD_LETTER_DAYS + 1, outcome="permanent_error")
    assert prune_dead() == 1
    assert [job.id for job in Job.objects.all()] == [kept]
    told = Outbox.objects.get(kind="job.discarded")
    assert told.job_ids == [gone]
    assert Attempt.objects.filter(job_id=gone).exists()


def test_a_queue_decides_how_long_its_dead_letters_stay(queue, done):
    patient = QueueFactory.create(project=queue.project, dead_letter_retention_days=60)
    brief = QueueFactory.create(project=queue.project, dead_letter_retention_days=1)
    kept = done(50, of=patient, outcome="permanent_error")
    done(2, of=brief, outcome="permanent_error")
    assert prune_dead() == 1
    assert [job.id for job in Job.objects.all()] == [kept]


def test_sessions_of_long_ago_are_forgotten_unless_they_hold_a_job(queue):
    long_ago = timezone.now() - timedelta(days=settings.RETENTION_EVENTS_DAYS + 1)
    holder, ended, silent, fresh = (SessionFactory.create() for _ in range(4))
    enqueue(queue)
    take_one(holder, queue)
    Session.objects.filter(pk__in=[holder.pk, silent.pk]).update(lease_expires_at=long_ago)
    Session.objects.filter(pk=ended.pk).update(ended_at=long_ago)
    Session.objects.filter(pk=fresh.pk).update(ended_at=timezone.now())
    assert prune_sessions() == 2
    assert {session.pk for session in Session.objects.all()} == {holder.pk, fresh.pk}


def test_empty_batches_of_long_ago_are_forgotten(queue, session):
    long_ago = timezone.now() - timedelta(days=LONG_AGO)
    empty, used = (Batch.objects.create(project=queue.project, size=1) for _ in range(2))
    enqueue_many([NewJob(queue_id=queue.pk, type="ping")], batch_id=used.pk)
    Batch.objects.update(created_at=long_ago)
    prune()
    assert [batch.pk for batch in Batch.objects.all()] == [used.pk]
    assert empty.pk != used.pk


def test_empty_workflows_of_long_ago_are_forgotten_with_their_names_and_what_they_published(queue):
    used = begin(queue, {"a": []})
    empty = Workflow.objects.create(project=queue.project)
    Step.objects.create(workflow_id=empty.pk, name="a", job_id=uuid4())
    Publication.objects.create(workflow_id=empty.pk, key="k", job_id=uuid4())
    Workflow.objects.update(created_at=timezone.now() - timedelta(days=LONG_AGO))
    prune()
    assert [one.pk for one in Workflow.objects.all()] == [used.pk]
    assert [one.workflow_id for one in Step.objects.all()] == [used.pk]
    assert not Publication.objects.exists()


def test_idempotency_keys_live_for_a_day(own_database):
    def key(name, hours):
        Idempotency.objects.create(scope_id=uuid4(), endpoint="x", key=name, request_hash=b"x", status=201)
        Idempotency.objects.filter(key=name).update(created_at=timezone.now() - timedelta(hours=hours))

    key("old", settings.IDEMPOTENCY_HOURS + 1)
    key("young", settings.IDEMPOTENCY_HOURS - 1)
    assert prune_keys() == 1
    assert [kept.key for kept in Idempotency.objects.all()] == ["young"]


def test_what_a_queue_that_was_deleted_had_finished_goes_with_the_next_day(queue, done):
    kept, gone = done(1, of=QueueFactory.create(project=queue.project)), done(1)
    today = enqueue(queue, delay_ms=60_000)
    services.delete_queue(queue=queue, actor=ANN, cancel=True)
    carry_out()
    prune()
    assert set(Job.objects.values_list("id", flat=True)) == {kept, today}
    assert set(Attempt.objects.values_list("job_id", flat=True)) == {kept}
    assert gone not in {kept, today}
