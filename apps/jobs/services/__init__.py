"""What people do with jobs: submit, cancel, retry, replay, discard, purge; pause, resume, and put in order.

    from apps.jobs.services import submit
    job = submit(queue="acme/media/thumbnails", type="image.thumbnail", payload={"path": "a.png"})

Each runs inside the caller's transaction where there is one; workers are woken when it commits.
"""

from apps.jobs.services.breakers import judge_probe, set_breaker, trip_breaker
from apps.jobs.services.cancel import cancel
from apps.jobs.services.check import check
from apps.jobs.services.order import move, reschedule, run_next, set_priority
from apps.jobs.services.pause import end_pauses, pause_job, resume_job, resume_type
from apps.jobs.services.purge import purge
from apps.jobs.services.queues import delete_queue, resume_queue
from apps.jobs.services.replay import ReplayedQueue, discard, replay, replay_queue
from apps.jobs.services.retry import retry_now
from apps.jobs.services.submit import Submitted, submit, submit_batch, submit_one

__all__ = [
    "ReplayedQueue",
    "Submitted",
    "cancel",
    "check",
    "delete_queue",
    "discard",
    "end_pauses",
    "judge_probe",
    "move",
    "pause_job",
    "purge",
    "replay",
    "replay_queue",
    "reschedule",
    "resume_job",
    "resume_queue",
    "resume_type",
    "retry_now",
    "run_next",
    "set_breaker",
    "set_priority",
    "submit",
    "submit_batch",
    "submit_one",
    "trip_breaker",
]
