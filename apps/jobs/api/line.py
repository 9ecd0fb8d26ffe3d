"""The line of a project as its operators see it."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.schema import tells
from apps.jobs.api import examples, shown
from apps.jobs.engine.line import InLine
from apps.jobs.selectors.line import LIMIT, operators_line
from apps.jobs.serializers.line import LineAnswer, LineItemAnswer, LineQuery
from apps.queues import selectors

_ITEM = LineItemAnswer()
_MORE = ("position", "workflow_name", "paused", "waiting_seconds")


class ProjectLine(Endpoint):
    route = "project-line"

    @tells("Show a project's line", answer=LineAnswer, example=examples.LINE_OF_PROJECT, query=LineQuery)
    def get(self, request: Request, project: Any) -> Response:
        """By worker: what is pending, then a section for each with what it runs and what is to run there.

        A workflow is told by one job: the one that runs, else the one that comes next. First come first.
        """
        home = self.reach(selectors.projects_with_queues(self.caller), pk=project)
        limit = self.asked.get("limit", LIMIT)
        line = operators_line(project=home, queue_ids=home.queue_ids, limit=limit)  # type: ignore[attr-defined]
        sections = [
            {"worker": one.uid, "state": one.state, "items": [_item(item) for item in one.items], "more": one.more}
            for one in line.workers
        ]
        return Response({"pending": [_item(item) for item in line.pending], "more": line.more, "workers": sections})


def _item(item: InLine) -> dict[str, Any]:
    more = {name: getattr(item, name) for name in _MORE}
    return _ITEM.to_representation(
        {**shown.facts(item), **more, "retry_at": item.retry_at, "can_retry": item.can_retry}
    )
