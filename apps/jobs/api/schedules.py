"""Schedules: made, changed, paused, run by hand; what they will do and what they did."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.timezone import now
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.models import Role
from apps.accounts.serializers.accounts import page_of
from apps.errors import BadInput
from apps.jobs import cron, services
from apps.jobs.api import examples
from apps.jobs.models import Schedule, Tick
from apps.jobs.selectors.schedules import hides_payload, preview, reachable_schedules
from apps.jobs.serializers import schedules as told
from apps.jobs.serializers.bodies import Nothing, PauseJob
from apps.queues import selectors

EPOCH = datetime(1, 1, 1, tzinfo=UTC)
PREVIEWED = 10


class Schedules(Endpoint):
    route = "queue-schedules"

    @tells(
        "List schedules",
        answer=page_of(told.ScheduleAnswer),
        example=examples.page(examples.SCHEDULE),
        paged=True,
    )
    def get(self, request: Request, queue: UUID) -> Response:
        found = self.reach(selectors.queues(self.caller), pk=queue)
        pager = Pager(request, within=queue)
        rows = pager.rows(Schedule.objects.filter(queue=found).select_related("queue__project"))
        return Response(pager.answer(rows, lambda row: shown(row, self.role), lambda row: row.pk))

    @tells(
        "Make a schedule",
        ask=told.NewSchedule,
        answer=told.ScheduleAnswer,
        status=201,
        asks=examples.NEW_SCHEDULE,
        example=examples.SCHEDULE,
        keyed=True,
        refusals=(409,),
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """Five fields of cron in a time zone; its first tick is the next one from now. 409 for a name that the queue has."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        fields = self.body(told.NewSchedule)

        def make() -> Made:
            made = services.create_schedule(queue=found, actor=self.actor, **fields)
            return Made([made.pk], shown(made, self.role))

        def show(ids: list[UUID]) -> dict[str, Any]:
            return shown(self.reach(reachable_schedules(self.caller), pk__in=ids), self.role)

        return once(request, scope_id=queue, make=make, show=show)


class OneSchedule(Endpoint):
    route = "schedule"

    @tells("Show a schedule", answer=told.ScheduleAnswer, example=examples.SCHEDULE)
    def get(self, request: Request, schedule: UUID) -> Response:
        return Response(shown(self.reach(reachable_schedules(self.caller), pk=schedule), self.role))

    @tells(
        "Change a schedule",
        ask=told.ChangeSchedule,
        answer=told.ScheduleAnswer,
        asks={"cron_expr": "0 4 * * *"},
        example={**examples.SCHEDULE, "cron_expr": "0 4 * * *"},
        refusals=(409,),
    )
    def patch(self, request: Request, schedule: UUID) -> Response:
        """Another expression or zone counts from now on and fires nothing; anything else leaves its next tick alone."""
        found = self.reach(reachable_schedules(self.caller), pk=schedule)
        changed = services.update_schedule(schedule=found, actor=self.actor, **self.body(told.ChangeSchedule))
        return Response(shown(changed, self.role))

    @tells("Delete a schedule", status=204)
    def delete(self, request: Request, schedule: UUID) -> Response:
        """Its ledger goes with it; jobs that it made go on."""
        found = self.reach(reachable_schedules(self.caller), pk=schedule)
        services.delete_schedule(schedule=found, actor=self.actor)
        return Response(status=204)


class PauseSchedule(Endpoint):
    route = "schedule-pause"

    @tells(
        "Pause a schedule",
        ask=PauseJob,
        answer=told.ScheduleAnswer,
        asks={"reason": "holidays"},
        example=examples.PAUSED_SCHEDULE,
    )
    def post(self, request: Request, schedule: UUID) -> Response:
        """No tick of it fires until it is resumed; jobs that it made go on."""
        found = self.reach(reachable_schedules(self.caller), pk=schedule)
        paused = services.pause_schedule(schedule=found, actor=self.actor, **self.body(PauseJob))
        return Response(shown(paused, self.role))


class ResumeSchedule(Endpoint):
    route = "schedule-resume"

    @tells("Resume a schedule", ask=Nothing, answer=told.ScheduleAnswer, asks={}, example=examples.SCHEDULE)
    def post(self, request: Request, schedule: UUID) -> Response:
        """It goes on with its next tick from now; those that have passed are in its ledger as skipped. One in trouble is
        tried again."""
        found = self.reach(reachable_schedules(self.caller), pk=schedule)
        self.body(Nothing)
        return Response(shown(services.resume_schedule(schedule=found, actor=self.actor), self.role))


class RunSchedule(Endpoint):
    route = "schedule-run-now"

    @tells(
        "Run a schedule now",
        ask=Nothing,
        answer=told.ScheduleAnswer,
        asks={},
        example=examples.SCHEDULE,
        keyed=True,
        refusals=(409, 429),
    )
    def post(self, request: Request, schedule: UUID) -> Response:
        """Makes a job at once, paused or not: `last_job`. Its next tick stays. 409 where it skips and the job before has
        not ended."""
        found = self.reach(reachable_schedules(self.caller), pk=schedule)
        self.body(Nothing)

        def make() -> Made:
            ran = services.run_schedule(schedule=found, actor=self.actor)
            return Made([ran.pk], shown(ran, self.role), status=200)

        def show(ids: list[UUID]) -> dict[str, Any]:
            return shown(self.reach(reachable_schedules(self.caller), pk__in=ids), self.role)

        return once(request, scope_id=schedule, make=make, show=show)


class Preview(Endpoint):
    route = "schedule-preview"

    @tells(
        "Preview a schedule",
        answer=told.PreviewAnswer,
        example=examples.PREVIEW,
        query=told.PreviewQuery,
    )
    def get(self, request: Request, schedule: UUID) -> Response:
        """Its next ticks, in its zone and in the reader's; as if it were not paused."""
        found = self.reach(reachable_schedules(self.caller), pk=schedule)
        name = self.asked.get("timezone", "UTC")
        try:
            viewer = cron.zone(name)
        except BadInput:
            raise BadInput.at("?timezone", "This must be an IANA name such as Europe/Berlin.") from None
        coming = preview(found, after=now(), count=self.asked.get("count", PREVIEWED), viewer=viewer)
        results = [
            {
                "at": one.at,
                "local": one.local.isoformat(),
                "viewer": one.viewer.isoformat(),
                "jitter_seconds": one.jitter.total_seconds(),
            }
            for one in coming
        ]
        facts = {"timezone": found.timezone, "viewer_timezone": name, "results": results}
        return Response(told.PreviewAnswer(facts).data)


class Ticks(Endpoint):
    route = "schedule-ticks"

    @tells(
        "List the ticks of a schedule",
        answer=page_of(told.TickAnswer),
        example=examples.page(examples.TICK),
        paged=True,
    )
    def get(self, request: Request, schedule: UUID) -> Response:
        """Its ledger, newest first: a row for each tick that was expected."""
        self.reach(reachable_schedules(self.caller), pk=schedule)
        pager = Pager(request, within=schedule)
        rows = _page(pager, Tick.objects.filter(schedule_id=schedule))
        return Response(pager.answer(rows, lambda row: told.TickAnswer(row).data, lambda row: _key(row.scheduled_for)))


def _page(pager: Pager, ticks: QuerySet[Tick]) -> Sequence[Tick]:
    """As Pager.rows, of rows whose key is a moment."""
    page = pager.page
    if page.newer_than:
        return list(
            ticks.filter(scheduled_for__gt=_moment(page.newer_than)).order_by("scheduled_for")[: page.limit + 1]
        )
    older = ticks.filter(scheduled_for__lt=_moment(page.older_than)) if page.older_than else ticks
    return list(older.order_by("-scheduled_for")[: page.limit + 1])


def _key(moment: datetime) -> UUID:
    return UUID(int=(moment - EPOCH) // timedelta(microseconds=1))


def _moment(key: UUID) -> datetime:
    return EPOCH + timedelta(microseconds=key.int)


def shown(schedule: Schedule, role: Role) -> dict[str, Any]:
    """A schedule as it goes out, as far as a role may see it."""
    hidden = hides_payload(schedule, role)
    halt = {"at": schedule.paused_at, "by": schedule.paused_by, "reason": schedule.pause_reason}
    facts = {
        **vars(schedule),
        "queue": schedule.queue_id,
        "payload": None if hidden else schedule.payload,
        "payload_hidden": hidden,
        "next_run_at": None if schedule.paused_at else schedule.next_run_at,
        "last_job": schedule.last_job_id,
        "paused": halt if schedule.paused_at else None,
        "trouble": schedule.trouble or None,
    }
    return told.ScheduleAnswer(facts).data
