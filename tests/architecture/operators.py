"""What operators do to the jobs of a database with a past (seed.sql), so that the plans of it are seen."""

from typing import Any
from uuid import UUID

from django.db import connection

from apps.audit.record import SYSTEM
from apps.jobs import services
from apps.jobs.engine import prose, prune
from apps.jobs.engine import summarize as summaries
from apps.jobs.engine.admit import START, admit, admit_due
from apps.jobs.engine.aim import aim
from apps.jobs.engine.approve import approve
from apps.jobs.engine.cancel import cancel
from apps.jobs.engine.claim_aimed import claim_aimed
from apps.jobs.engine.claim_gated import claim_gated
from apps.jobs.engine.claim_roomy import claim_roomy
from apps.jobs.engine.cron import due, next_tick
from apps.jobs.engine.discard import discard
from apps.jobs.engine.enqueue import NewJob, enqueue
from apps.jobs.engine.gates import gates
from apps.jobs.engine.health import health
from apps.jobs.engine.heartbeat import Told
from apps.jobs.engine.last_word import last_word
from apps.jobs.engine.list_jobs import Window
from apps.jobs.engine.log import Line, log_held
from apps.jobs.engine.metrics import metrics
from apps.jobs.engine.move import move
from apps.jobs.engine.move_workflow import move_workflow
from apps.jobs.engine.open_gates import open_gates
from apps.jobs.engine.outcomes import Watch
from apps.jobs.engine.pause import pause
from apps.jobs.engine.pause_workflow import pause_workflow
from apps.jobs.engine.probes import probes
from apps.jobs.engine.purge import purge
from apps.jobs.engine.ready import ready_aimed, ready_sessions
from apps.jobs.engine.reassign import reassign
from apps.jobs.engine.reassign_workflow import reassign_workflow
from apps.jobs.engine.reconcile import reconcile
from apps.jobs.engine.reject import reject
from apps.jobs.engine.replay import replay
from apps.jobs.engine.report import Ended, report
from apps.jobs.engine.rerank import rerank
from apps.jobs.engine.reschedule import reschedule
from apps.jobs.engine.resume import resume
from apps.jobs.engine.resume_workflow import resume_workflow
from apps.jobs.engine.retry_now import retry_now
from apps.jobs.engine.rollup import rollup
from apps.jobs.engine.run_next import run_next
from apps.jobs.engine.run_workflow_next import run_workflow_next
from apps.jobs.engine.set_parents import set_parents
from apps.jobs.engine.set_priority import set_priority
from apps.jobs.engine.vanish import vanish, vanish_batches, vanish_dead, vanish_ticks, vanish_workflows
from apps.jobs.engine.why import why
from apps.jobs.engine.workspaces import generation_of, over
from apps.jobs.selectors import find, workflows
from apps.workers.engine.vanish import vanish_reservations, vanish_sessions, vanish_workers

FLOW: list[tuple[str, list[str]]] = [("a", []), ("b", ["a"])]


def seeded(kind: str, number: int) -> UUID:
    with connection.cursor() as cursor:
        cursor.execute("SELECT md5(%s)::uuid", [f"{kind}{number}"])
        return UUID(str(cursor.fetchone()[0]))


def steer(queue: Any) -> None:
    """They ask why, cancel, retry, replay, discard and purge; they put in order, hold back and let go; breakers trip."""
    assert all(why(job_id=seeded("live", number)) for number in (49_991, 49_992, 49_995))
    cancel(job_id=queue.claims[40].job_id)
    cancel(job_id=queue.claims[41].job_id, force=True)
    cancel(job_id=seeded("live", 4))
    retry_now(job_id=seeded("live", 2))
    replay(delays_ms={seeded("shelved", 1): 0}, revive_descendants=True)
    discard(ids=[seeded("shelved", 4)])
    purge(queue_id=seeded("queue", 50))
    jobs = [one.job_id for one in enqueue([NewJob(queue_id=queue.pk, type="ping") for _ in range(4)])]
    set_priority(ids=jobs, priority=3)
    reschedule(job_id=jobs[0], delay_ms=5)
    assert move(job_id=jobs[2], to="up")
    assert run_next(job_id=jobs[3])
    asking = [NewJob(queue_id=queue.pk, type="ping", requires_approval=True) for _ in range(2)]
    decided = [one.job_id for one in enqueue(asking)]
    assert approve(job_id=decided[0], by="ann")
    assert reject(job_id=decided[1], by="ann") == frozenset()
    assert set_parents(job_id=jobs[0], parents=[*jobs[1:], seeded("live", 9)])
    assert set_parents(job_id=jobs[0], parents=[])
    pause(ids=jobs)
    resume(ids=jobs)
    rerank(queues=[queue.pk])
    enqueue([NewJob(queue_id=queue.pk, type="ping", concurrency_key=f"key-{number % 7}") for number in range(70)])
    walked = admit_due(queue_id=START[0], key=START[1], limit=5)
    assert admit(keys=[(one.queue_id, one.key) for one in walked])
    for act in (_trip, _tick, _flow, _vanish):
        act(queue)


def _flow(queue: Any) -> None:
    """A workflow is submitted, joined, looked at and steered; the one that is steered has a past."""
    jobs = [{"name": name, "queue": queue.name, "type": "ping", "depends_on": waits} for name, waits in FLOW]
    made = services.submit_workflow(project=queue.project, jobs=jobs).workflow
    services.submit(queue=queue, type="ping", workflow=made.pk)
    shown, _ = workflows.steps(made)
    assert workflows.standings([made])[made.pk].jobs == len(shown) == 3
    batch = services.submit_batch(queue=queue, jobs=[{"type": "ping"}], on_complete={"type": "pong"}).batch
    services.cancel_batch(batch=batch, actor=SYSTEM)
    assert services.complete_batches() == 1
    stage = next(one for one in queue.claims[42:] if one.workflow_id)
    report(
        ended=[
            Ended(
                job_id=stage.job_id,
                fence=stage.fence,
                session_id=queue.session_id,
                outcome="success",
                follow=(NewJob(queue_id=queue.pk, type="ping"),),
                workflow_id=stage.workflow_id,
            )
        ]
    )
    held = {"workflow_id": seeded("workflow", 5)}
    assert pause_workflow(**held)
    assert resume_workflow(**held)
    assert move_workflow(**held, to="down")
    assert run_workflow_next(**held)


def limit(queue: Any) -> None:
    """Jobs pass a gate that counts what runs behind it."""
    limited = seeded("queue", 7)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE queues_queue SET max_concurrency = 4, shards = 2 WHERE id = %s", [limited])
        cursor.execute(
            "INSERT INTO queues_gate (queue_id, shard, cap, in_flight, tokens, opens_after, breaker, trips)"
            " SELECT %s, shard, 2, 0, 1, 1, 'closed', 0 FROM generate_series(0, 1) AS shard",
            [limited],
        )
    assert open_gates() == (limited, True)
    assert [one.queue_id for one in gates(queues=[limited], types=["ping"], session_id=None)] == [limited]
    passed = claim_gated(session_id=queue.session_id, queue_id=limited, offers={"ping": None}, limit=50)
    assert len(passed.jobs) == 2
    assert reconcile() == (limited, [])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE queues_gate SET cap = 200 WHERE queue_id = %s", [limited])
    for offers in ({"ping": None}, {"ping": None, "pong": None}):
        assert claim_roomy(session_id=queue.session_id, queue_id=limited, offers=offers, limit=2).jobs


def take_aimed(queue: Any, queues: list[UUID]) -> None:
    """A worker takes what waits for it, and for whoever comes first."""
    mine = NewJob(queue_id=queue.pk, type="ping", placement="job", required_worker=seeded("worker", 1))
    waiting = enqueue([mine, NewJob(queue_id=queue.pk, type="ping", placement="job")])[1].job_id
    assert aim(workflow_id=seeded("workflow", 5))
    ready_aimed(session_id=queue.session_id, after=START[0], limit=10)
    ready_sessions(sessions=[queue.session_id])
    over(workflows=[seeded("workflow", 5)], generations=[1], jobs=[seeded("live", 1)])
    generation_of(workflow_id=seeded("workflow", 5))
    assert reassign(job_id=waiting, worker_id=seeded("worker", 1))
    assert reassign_workflow(workflow_id=seeded("workflow", 10), worker_id=seeded("worker", 1))
    made = services.reserve(workflow_id=seeded("workflow", 20), actor=SYSTEM)
    for _ in range(2):
        services.settle_reservations()
    services.end_reservation(reservation_id=made.pk, actor=SYSTEM)
    offers = {"ping": None, "pong": 1000}
    assert claim_aimed(session_id=queue.session_id, queues=queues, offers=offers, limit=50).jobs


def _say(queue: Any) -> None:
    """A remote worker says something of what it runs."""
    held = queue.claims[35]
    assert last_word(session_id=queue.session_id, told=[(held.fence, Told(job_id=held.job_id, done=1))])
    assert log_held(session_id=queue.session_id, lines=[Line(held.job_id, held.fence, 0, 1, "info", "said")]) == 1


def _trip(queue: Any) -> None:
    """The loop looks at breakers: what ended of late, and what the one that tries came to."""
    _say(queue)
    half_open, probe, failed = seeded("queue", 8), queue.claims[0], queue.claims[1].queue_id
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE queues_queue SET breaker_window = 9, breaker_trip = 1, breaker_cooldown_seconds = 5,"
            " breaker_since = (SELECT min(started_at) - interval '1 ms' FROM jobs_attempt WHERE job_id = ANY(%s))"
            " WHERE id = ANY(%s)",
            [[one.job_id for one in queue.claims], [failed, half_open]],
        )
        cursor.execute(
            "INSERT INTO queues_gate (queue_id, shard, in_flight, tokens, breaker, trips, probe_job, probe_fence)"
            " VALUES (%s, 0, 0, 0, 'half_open', 1, %s, %s)",
            [half_open, probe.job_id, probe.fence],
        )
    assert [one.queue_id for one in Watch().look()] == [failed]
    assert [one.outcome for one in probes()[1]] == ["success"]


def _tick(queue: Any) -> None:
    """Schedules fire; deadlines are judged; old ticks are forgotten."""
    assert services.fire_due(limit=10) == 10
    assert due(limit=1, only=seeded("schedule", 1))
    assert next_tick()
    assert services.judge_deadlines()
    prune.prune_ticks()
    prune.prune_minutes()
    assert health(project_id=queue.project_id, window=Window(limit=51))
    assert metrics()
    rollup()
    [failed, *_] = summaries.due(window_hours=24, every_ms=0)
    assert summaries.summarize(failed, window_hours=24, writes=True)
    told = prose.wanted(calls_max=9)
    assert told
    assert prose.keep(told, text="It fails.", model="m") == "current"


def _vanish(queue: Any) -> None:
    """A queue with everything in it is deleted, and its project."""
    doomed = seeded("queue", 1)
    assert vanish(queues=[doomed], limit=100).queues == [doomed]
    [parent] = enqueue([NewJob(queue_id=doomed, type="ping")])
    [child] = enqueue([NewJob(queue_id=queue.pk, type="ping", depends_on=[parent.job_id])])
    vanish(queues=[doomed], after=UUID(int=parent.job_id.int - 1), limit=1)
    assert find(child.job_id).state == "cancelled"
    assert vanish_dead(queue_id=doomed, limit=2)
    vanish_ticks(queue_id=doomed, limit=2)
    vanish_batches(queue_id=doomed, limit=2)
    vanish_workflows(project_id=queue.project_id, limit=2)
    for forget in (vanish_reservations, vanish_sessions, vanish_workers):
        forget(organization_id=queue.project.organization_id, limit=2)
