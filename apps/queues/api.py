"""Queues and retry policies. What needs to know of jobs as well stands in apps/jobs/api."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.endpoint import Endpoint
from apps.accounts.api.once import Made, once
from apps.accounts.api.paging import Pager
from apps.accounts.api.schema import tells
from apps.accounts.models import Project
from apps.accounts.selectors import reach
from apps.accounts.serializers.accounts import page_of
from apps.errors import BadInput
from apps.queues import selectors, services
from apps.queues import serializers as bodies
from apps.queues.models import PausedType, Queue, RetryPolicy

ID = "01a22856-3bac-754a-b89f-8e8e9e32e5c7"
AT = "2027-03-14T07:00:00Z"
POLICY = {
    "id": ID,
    "project": ID,
    "name": "patient",
    "kind": "exponential",
    "max_attempts": 8,
    "max_losses": 3,
    "base_delay_ms": 1000,
    "max_delay_ms": 300000,
    "jitter": True,
    "intervals": None,
    "created_at": AT,
}
QUEUE = {
    "id": ID,
    "project": ID,
    "name": "thumbnails",
    "retry_policy": ID,
    "default_priority": 0,
    "aging_seconds": 60,
    "timeout_ms": 300000,
    "max_concurrency": 20,
    "shards": 1,
    "rate_per_second": None,
    "burst": None,
    "retention_days": None,
    "dead_letter_retention_days": None,
    "allowed_types": None,
    "hide_payloads_below": None,
    "max_depth": None,
    "max_per_key": None,
    "weight": 1,
    "breaker": {"window": 20, "trip": 10, "share": None, "cooldown_seconds": 60},
    "breaker_state": {"state": "closed", "reopens_at": None, "trips": 0},
    "paused": None,
    "created_at": AT,
}
PAUSED_TYPE = {
    "id": ID,
    "project": ID,
    "type": "image.thumbnail",
    "at": AT,
    "until": "2027-03-14T09:00:00Z",
    "by": "ada@example.com",
    "reason": "the model is wrong",
}
OPENED = {**QUEUE, "breaker_state": {"state": "open", "reopens_at": "2027-03-14T09:00:00Z", "trips": 0}}
PAUSED = {**QUEUE, "paused": {"at": AT, "until": None, "by": "ada@example.com", "reason": "the printer burns"}}


class Queues(Endpoint):
    route = "project-queues"

    @tells(
        "List queues",
        answer=page_of(bodies.QueueAnswer),
        example={"results": [QUEUE], "next": None, "previous": None},
        paged=True,
    )
    def get(self, request: Request, project: UUID) -> Response:
        self.reach(reach.projects(self.caller), pk=project)
        pager = Pager(request, within=project)
        found = pager.rows(selectors.with_breaker(Queue.objects.filter(project_id=project)))
        return Response(pager.answer(found, shown, lambda row: row.pk))

    @tells(
        "Make a queue",
        ask=bodies.NewQueue,
        answer=bodies.QueueAnswer,
        status=201,
        asks={
            "name": "thumbnails",
            "retry_policy": "patient",
            "aging_seconds": 60,
            "breaker": {"window": 20, "trip": 10, "cooldown_seconds": 60},
        },
        example=QUEUE,
        keyed=True,
    )
    def post(self, request: Request, project: UUID) -> Response:
        found = self.reach(reach.projects(self.caller), pk=project)
        fields = with_policy(self.body(bodies.NewQueue), project)

        def make() -> Made:
            made = services.create(project=found, actor=self.actor, **fields)
            return Made([made.pk], shown(made))

        def show(ids: list[UUID]) -> dict[str, Any]:
            return shown(self.reach(selectors.queues(self.caller), pk__in=ids))

        return once(request, scope_id=project, make=make, show=show)


class OneQueue(Endpoint):
    """Its DELETE stands in apps/jobs/api, and so does its path."""

    route = "queue"

    @tells("Show a queue", answer=bodies.QueueAnswer, example=QUEUE)
    def get(self, request: Request, queue: UUID) -> Response:
        return Response(shown(self.reach(selectors.with_breaker(selectors.queues(self.caller)), pk=queue)))

    @tells(
        "Change a queue",
        ask=bodies.ChangeQueue,
        answer=bodies.QueueAnswer,
        asks={"timeout_ms": 60000},
        example={**QUEUE, "timeout_ms": 60000},
        refusals=(409,),
    )
    def patch(self, request: Request, queue: UUID) -> Response:
        found = self.reach(selectors.queues(self.caller), pk=queue)
        fields = with_policy(self.body(bodies.ChangeQueue), found.project_id)
        return Response(shown(services.update(queue=found, actor=self.actor, **fields)))


class PauseQueue(Endpoint):
    route = "queue-pause"

    @tells(
        "Pause a queue",
        ask=bodies.Pause,
        answer=bodies.QueueAnswer,
        asks={"reason": "the printer burns", "until": "2027-03-14T09:00:00Z"},
        example=PAUSED,
    )
    def post(self, request: Request, queue: UUID) -> Response:
        """No claim that begins after the answer takes a job of it; running jobs go on."""
        found = self.reach(selectors.queues(self.caller), pk=queue)
        return Response(shown(services.pause(queue=found, actor=self.actor, **self.body(bodies.Pause))))


class PausedTypes(Endpoint):
    route = "project-paused-types"

    @tells(
        "List paused job types",
        answer=page_of(bodies.PausedTypeAnswer),
        example={"results": [PAUSED_TYPE], "next": None, "previous": None},
        paged=True,
    )
    def get(self, request: Request, project: UUID) -> Response:
        """One whose end has come is gone within a second."""
        self.reach(reach.projects(self.caller), pk=project)
        pager = Pager(request, within=project)
        found = pager.rows(PausedType.objects.filter(project_id=project))
        return Response(pager.answer(found, lambda row: bodies.PausedTypeAnswer(row).data, lambda row: row.pk))


class PauseType(Endpoint):
    route = "project-type-pause"

    @tells(
        "Pause a job type",
        ask=bodies.Pause,
        answer=bodies.PausedTypeAnswer,
        asks={"reason": "the model is wrong", "until": "2027-03-14T09:00:00Z"},
        example=PAUSED_TYPE,
    )
    def post(self, request: Request, project: UUID, type: str) -> Response:
        """No claim that begins after the answer takes a job of this type from any queue of the project;
        running jobs go on. A slash in its name may stand as it is."""
        found = self.reach(reach.projects(self.caller), pk=project)
        paused = services.pause_type(project=found, type=type, actor=self.actor, **self.body(bodies.Pause))
        return Response(bodies.PausedTypeAnswer(paused).data)


class Policies(Endpoint):
    route = "project-retry-policies"

    @tells(
        "List retry policies",
        answer=page_of(bodies.PolicyAnswer),
        example={"results": [POLICY], "next": None, "previous": None},
        paged=True,
    )
    def get(self, request: Request, project: UUID) -> Response:
        self.reach(reach.projects(self.caller), pk=project)
        pager = Pager(request, within=project)
        found = pager.rows(RetryPolicy.objects.filter(project_id=project))
        return Response(pager.answer(found, _policy, lambda row: row.pk))

    @tells(
        "Make a retry policy",
        ask=bodies.NewPolicy,
        answer=bodies.PolicyAnswer,
        status=201,
        asks={"name": "patient", "kind": "exponential", "max_attempts": 8},
        example=POLICY,
        keyed=True,
    )
    def post(self, request: Request, project: UUID) -> Response:
        found: Project = self.reach(reach.projects(self.caller), pk=project)
        fields = self.body(bodies.NewPolicy)

        def make() -> Made:
            made = services.create_policy(project=found, actor=self.actor, **fields)
            return Made([made.pk], _policy(made))

        def show(ids: list[UUID]) -> dict[str, Any]:
            return _policy(self.reach(selectors.policies(self.caller), pk__in=ids))

        return once(request, scope_id=project, make=make, show=show)


class OnePolicy(Endpoint):
    route = "retry-policy"

    @tells("Show a retry policy", answer=bodies.PolicyAnswer, example=POLICY)
    def get(self, request: Request, policy: UUID) -> Response:
        return Response(_policy(self.reach(selectors.policies(self.caller), pk=policy)))

    @tells(
        "Change a retry policy",
        ask=bodies.ChangePolicy,
        answer=bodies.PolicyAnswer,
        asks={"max_attempts": 8},
        example=POLICY,
        refusals=(409,),
    )
    def patch(self, request: Request, policy: UUID) -> Response:
        """Jobs that wait for a retry already keep their time."""
        found = self.reach(selectors.policies(self.caller), pk=policy)
        changed = services.update_policy(policy=found, actor=self.actor, **self.body(bodies.ChangePolicy))
        return Response(_policy(changed))

    @tells("Delete a retry policy", status=204, refusals=(409,))
    def delete(self, request: Request, policy: UUID) -> Response:
        """Refused while a queue uses it; jobs that named it follow their queue's."""
        found = self.reach(selectors.policies(self.caller), pk=policy)
        services.delete_policy(policy=found, actor=self.actor)
        return Response(status=204)


def with_policy(fields: dict[str, Any], project_id: UUID) -> dict[str, Any]:
    """Find the retry policy that a body names."""
    given = fields.get("retry_policy")
    if given is None:
        return fields
    policy = selectors.policy_named(project_id, given)
    if policy is None:
        raise BadInput.at("#/retry_policy", "There is no such retry policy in this project.")
    return {**fields, "retry_policy": policy}


def shown(queue: Queue) -> dict[str, Any]:
    """A queue as it goes out."""
    return bodies.QueueAnswer(queue).data


def _policy(policy: RetryPolicy) -> dict[str, Any]:
    return bodies.PolicyAnswer(policy).data
