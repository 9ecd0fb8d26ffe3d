"""What a person says to a job that waits for somebody's word."""

from django.http import HttpRequest

from apps.dashboard.views.jobs import verb
from apps.dashboard.views.shell import actor, clean
from apps.jobs import services

NOTE_MAX = 1000


def note(request: HttpRequest) -> str:
    return clean(request.POST.get("note", ""))[:NOTE_MAX]


approve = verb(
    lambda request, one: services.approve(job_id=one.pk, actor=actor(request), note=note(request)),
    "Approved: it goes on.",
)
reject = verb(
    lambda request, one: services.reject(job_id=one.pk, actor=actor(request), note=note(request)),
    "Rejected: it is cancelled.",
)
