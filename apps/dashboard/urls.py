"""Addresses of the pages. What a list shows is in its query, so every list is a link one can send."""

from django.urls import path

from apps.dashboard.views import again, decide, home, jobs, lists, order, queues, schedules

app_name = "dashboard"
urlpatterns = [
    path("", home.home, name="home"),
    path("moved", home.moved, name="moved"),
    path("jobs", lists.jobs, name="jobs"),
    path("jobs/<uuid:job_id>", jobs.job, name="job"),
    path("jobs/<uuid:job_id>/cancel", jobs.cancel, name="cancel"),
    path("jobs/<uuid:job_id>/retry", jobs.retry, name="retry"),
    path("jobs/<uuid:job_id>/replay", again.replay, name="replay"),
    path("jobs/<uuid:job_id>/duplicate", again.duplicate, name="duplicate"),
    path("jobs/<uuid:job_id>/approve", decide.approve, name="approve"),
    path("jobs/<uuid:job_id>/reject", decide.reject, name="reject"),
    path("jobs/<uuid:job_id>/discard", jobs.discard, name="discard"),
    path("jobs/<uuid:job_id>/pause", order.pause, name="pause_job"),
    path("jobs/<uuid:job_id>/resume", order.resume, name="resume_job"),
    path("jobs/<uuid:job_id>/move", order.move, name="move"),
    path("jobs/<uuid:job_id>/run-next", order.run_next, name="run_next"),
    path("jobs/<uuid:job_id>/priority", order.priority, name="priority"),
    path("jobs/<uuid:job_id>/reschedule", order.reschedule, name="reschedule"),
    path("queues/<uuid:queue_id>", queues.queue, name="queue"),
    path("queues/<uuid:queue_id>/types/pause", order.pause_type, name="pause_type"),
    path("queues/<uuid:queue_id>/types/resume", order.resume_type, name="resume_type"),
    path("queues/<uuid:queue_id>/pause", queues.pause, name="pause"),
    path("queues/<uuid:queue_id>/resume", queues.resume, name="resume"),
    path("queues/<uuid:queue_id>/breaker", queues.breaker, name="breaker"),
    path("queues/<uuid:queue_id>/purge", queues.purge, name="purge"),
    path("queues/<uuid:queue_id>/replay", again.replay_queue, name="replay_queue"),
    path("schedules", schedules.schedules, name="schedules"),
    path("schedules/<uuid:schedule_id>", schedules.schedule, name="schedule"),
    path("schedules/<uuid:schedule_id>/pause", schedules.pause, name="pause_schedule"),
    path("schedules/<uuid:schedule_id>/resume", schedules.resume, name="resume_schedule"),
    path("schedules/<uuid:schedule_id>/run", schedules.run, name="run_schedule"),
    path("line", lists.line, name="line"),
    path("workers", lists.workers, name="workers"),
    path("dead-letters", lists.dead_letters, name="dead_letters"),
]
