"""What operators do to the jobs of a database with a past (seed.sql), so that the plans of it are seen."""

from typing import Any
from uuid import UUID

from django.db import connection

from apps.jobs.engine.admit import START, admit, admit_due
from apps.jobs.engine.cancel import cancel
from apps.jobs.engine.discard import discard
from apps.jobs.engine.enqueue import NewJob, enqueue
from apps.jobs.engine.move import move
from apps.jobs.engine.pause import pause
from apps.jobs.engine.purge import purge
from apps.jobs.engine.replay import replay
from apps.jobs.engine.rerank import rerank
from apps.jobs.engine.reschedule import reschedule
from apps.jobs.engine.resume import resume
from apps.jobs.engine.retry_now import retry_now
from apps.jobs.engine.run_next import run_next
from apps.jobs.engine.set_priority import set_priority
from apps.jobs.engine.why import why


def seeded(kind: str, number: int) -> UUID:
    with connection.cursor() as cursor:
        cursor.execute("SELECT md5(%s)::uuid", [f"{kind}{number}"])
        return UUID(str(cursor.fetchone()[0]))


def steer(queue: Any) -> None:
    """They ask why, cancel, retry, replay, discard and purge; they put in order, hold back and let go."""
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
    pause(ids=jobs)
    resume(ids=jobs)
    rerank(queues=[queue.pk])
    enqueue([NewJob(queue_id=queue.pk, type="ping", concurrency_key=f"key-{number % 7}") for number in range(70)])
    walked = admit_due(queue_id=START[0], key=START[1], limit=5)
    assert admit(keys=[(one.queue_id, one.key) for one in walked])
