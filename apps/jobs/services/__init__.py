"""What people do with jobs: submit, cancel, retry, replay, discard, purge; pause, resume, and put in order;
with workflows, which are jobs that wait for each other; and with schedules, which make jobs again and again.

    from apps.jobs.services import submit
    job = submit(queue="acme/media/thumbnails", type="image.thumbnail", payload={"path": "a.png"})

Each runs inside the caller's transaction where there is one; workers are woken when it commits.
"""

from apps.jobs.services.approve import approve, reject
from apps.jobs.services.batch import Sifted, Submitted, fault_of, sift_batch, submit_batch
from apps.jobs.services.breakers import judge_probe, set_breaker, trip_breaker
from apps.jobs.services.cancel import cancel
from apps.jobs.services.check import check
from apps.jobs.services.complete import cancel_batch, complete_batches
from apps.jobs.services.deletion import delete_organization, delete_project, delete_queue
from apps.jobs.services.duplicate import duplicate
from apps.jobs.services.order import move, reschedule, run_next, set_priority
from apps.jobs.services.parents import set_parents
from apps.jobs.services.pause import end_pauses, pause_job, resume_job, resume_type
from apps.jobs.services.purge import purge
from apps.jobs.services.queues import resume_queue
from apps.jobs.services.reassign import reassign, reassign_workflow
from apps.jobs.services.replay import discard, replay
from apps.jobs.services.replay_many import ReplayedQueue, replay_queue
from apps.jobs.services.replay_on import replay_all
from apps.jobs.services.reserve import end_reservation, reserve
from apps.jobs.services.retry import retry_now
from apps.jobs.services.schedules import (
    create_schedule,
    delete_schedule,
    pause_schedule,
    resume_schedule,
    run_schedule,
    update_schedule,
)
from apps.jobs.services.settle import settle_reservations
from apps.jobs.services.steer_workflow import (
    cancel_workflow,
    move_workflow,
    pause_workflow,
    resume_workflow,
    retry_workflow,
    run_workflow_next,
    set_workflow_priority,
)
from apps.jobs.services.submit import submit, submit_one
from apps.jobs.services.ticks import fire_due, judge_deadlines
from apps.jobs.services.vanish import carry_out
from apps.jobs.services.workflow import Begun, submit_workflow

__all__ = [
    "Begun",
    "ReplayedQueue",
    "Sifted",
    "Submitted",
    "approve",
    "cancel",
    "cancel_batch",
    "cancel_workflow",
    "carry_out",
    "check",
    "complete_batches",
    "create_schedule",
    "delete_organization",
    "delete_project",
    "delete_queue",
    "delete_schedule",
    "end_reservation",
    "discard",
    "duplicate",
    "end_pauses",
    "fault_of",
    "fire_due",
    "judge_deadlines",
    "judge_probe",
    "move",
    "move_workflow",
    "pause_job",
    "pause_schedule",
    "pause_workflow",
    "purge",
    "reject",
    "reassign",
    "reassign_workflow",
    "replay",
    "replay_all",
    "replay_queue",
    "reschedule",
    "reserve",
    "settle_reservations",
    "resume_job",
    "resume_queue",
    "resume_schedule",
    "resume_type",
    "resume_workflow",
    "retry_now",
    "retry_workflow",
    "run_next",
    "run_schedule",
    "run_workflow_next",
    "set_breaker",
    "set_parents",
    "set_priority",
    "set_workflow_priority",
    "sift_batch",
    "submit",
    "submit_batch",
    "submit_one",
    "submit_workflow",
    "trip_breaker",
    "update_schedule",
]
