"""Bodies and answers of workflows. docs/workflows.md says what the states mean."""

from typing import Any

from rest_framework import serializers

from apps.accounts.serializers.fields import Body, Entries, Flag, Items, Text, Whole
from apps.jobs.serializers.answers import ReceiptAnswer
from apps.jobs.serializers.bodies import KEY_MAX, NAME_MAX, JobFields
from apps.jobs.states import JobState, WorkflowState


class StepFields(JobFields):
    """One job of a workflow; what `depends_on` names is a job of the call, or the id of one that is there already."""

    name = Text(max_length=NAME_MAX, help_text="Its local name, once in the call.")
    queue = Text(max_length=NAME_MAX, help_text="A queue of the project, by name or id.")
    depends_on = Items(child=Text(), required=False)
    workflow = None  # type: ignore[assignment] # it joins the one of the call


class NewWorkflow(Body):
    """services.submit_workflow checks it; here it is told."""

    name = Text(max_length=NAME_MAX, required=False)
    priority = Whole(min_value=-1000, max_value=1000, required=False, help_text="Of jobs that have none.")
    labels = Entries(child=Text(max_length=KEY_MAX, allow_blank=True), required=False)
    affinity = Flag(
        required=False, help_text="Its jobs go where the first of them goes, unless their placement says any."
    )
    required_worker = Text(max_length=NAME_MAX, required=False, help_text="The uid of the worker that they go to.")
    dedicated = Flag(required=False, help_text="It waits for a worker that has nothing else to do. For admins.")
    jobs = StepFields(many=True)


class StepReceiptAnswer(ReceiptAnswer):
    name = serializers.CharField()


class BegunAnswer(serializers.Serializer[Any]):
    workflow = serializers.UUIDField()
    jobs = StepReceiptAnswer(many=True)


class WorkflowAnswer(serializers.Serializer[Any]):
    """A workflow as lists show it."""

    id = serializers.UUIDField()
    project = serializers.UUIDField(source="project_id")
    name = serializers.CharField()
    state = serializers.CharField(help_text=", ".join(WorkflowState.values))
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Its jobs by state.")
    jobs = serializers.IntegerField()
    percent = serializers.FloatField(help_text="Of its jobs that have ended.")
    priority = serializers.IntegerField()
    generation = serializers.IntegerField(help_text="Of its workspace.")
    created_at = serializers.DateTimeField()
    paused_at = serializers.DateTimeField(allow_null=True)
    cancelled_at = serializers.DateTimeField(allow_null=True)
    submitted_by = serializers.UUIDField(allow_null=True, help_text="A user or a token.")
    labels = serializers.DictField(child=serializers.CharField(), allow_null=True)
    required_worker = serializers.CharField(allow_null=True, help_text="Where it is to go.")
    assigned_worker = serializers.CharField(allow_null=True, help_text="Where its first job went.")
    dedicated = serializers.BooleanField(help_text="It is, or was to be, reserved for a worker.")


class StepAnswer(serializers.Serializer[Any]):
    """One job of a workflow, with its place in the graph."""

    id = serializers.UUIDField()
    name = serializers.CharField(allow_null=True, help_text="null: it joined later.")
    queue = serializers.UUIDField(source="queue_id")
    queue_name = serializers.CharField()
    type = serializers.CharField()
    state = serializers.ChoiceField(JobState.choices)
    reason = serializers.CharField(allow_null=True, help_text="Why it ended, when it did not complete.")
    priority = serializers.IntegerField()
    pending_parents = serializers.IntegerField()
    run_at = serializers.DateTimeField()
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    elapsed_seconds = serializers.FloatField(allow_null=True)
    stage = serializers.CharField(allow_null=True)
    done = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    last_error = serializers.CharField(allow_null=True, help_text="Since it was submitted, or the workflow retried.")
    cancel_requested = serializers.BooleanField()
    result = serializers.JSONField()
    layer = serializers.IntegerField(help_text="0: it waits for no other step.")
    column = serializers.IntegerField(help_text="Its place in the layer.")


class EdgeAnswer(serializers.Serializer[Any]):
    parent = serializers.UUIDField()  # type: ignore[assignment]
    child = serializers.UUIDField()


class WorkflowDetailAnswer(WorkflowAnswer):
    steps = StepAnswer(many=True, help_text="Parents before children; the first thousand.")
    edges = EdgeAnswer(many=True, help_text="Between those steps.")
    more = serializers.BooleanField(help_text="It has more jobs than are shown: GET /jobs?workflow= lists them.")
    payload_hidden = serializers.BooleanField(help_text="Your role does not see some of the results.")
