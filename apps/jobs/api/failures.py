"""What fails in a queue, in groups, and in words where a model is there to find them."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.jobs.api import examples
from apps.jobs.selectors.failures import failures
from apps.jobs.serializers.failures import FailureSummaryAnswer
from apps.queues import selectors

GROUP = {
    "error_class": "ConnectionError",
    "top_frame": "shop/mail/send.py:12 in deliver",
    "count": 31,
    "jobs": 9,
    "distinct_messages": 2,
    "latest_message": "no route to mail.example.com",
    "first_seen": "2027-03-13T22:41:07Z",
    "last_seen": "2027-03-14T06:58:31Z",
    "sample": {"job": examples.JOB_ID, "attempt": 4},
}
SUMMARY = {
    "queue": examples.ID,
    "window_hours": 24,
    "failures": [GROUP],
    "capped": False,
    "computed_at": examples.AT,
    "summary": "",
    "model": None,
    "told_at": None,
    "state": "unavailable",
}


class FailureSummary(Endpoint):
    route = "queue-failure-summary"

    @tells("Show what fails in a queue", answer=FailureSummaryAnswer, example=SUMMARY)
    def get(self, request: Request, queue: UUID) -> Response:
        """Attempts that failed within `window_hours`, by error class and top frame, the largest group first, 50 at most.
        Looked at every five minutes: the groups are those of `computed_at`. `state` is about `summary` alone: `current`, it tells
        of these groups, or there are none; `stale`, it tells of earlier groups; `pending`, it is still to be written, or nobody
        has looked yet (`computed_at` is null); `unavailable`, no model is set up, or it did not answer when last asked."""
        self.reach(selectors.queues(self.caller), pk=queue)
        return Response(FailureSummaryAnswer(failures(queue)).data)
