"""A workflow is submitted whole: local names, an order without recursion, and faults that are pointed at."""

from uuid import UUID, uuid4

import pytest

from apps.errors import BadInput, IllegalMove, KeyTaken, NotFound, QueueFull, UnknownField
from apps.jobs import services
from apps.jobs.models import Dependency, Job, Step, Workflow
from apps.queues.models import Depth, Queue
from tests.acts import enqueue, finish, take_one
from tests.factories import ProjectFactory, QueueFactory
from tests.jobs.looks import ANN, fail_for_good, look, reason, state, told
from tests.jobs.workflows import begin, jobs_of, standing, states, step, work


def submit(queue, jobs, **fields):
    return services.submit_workflow(project=queue.project, jobs=jobs, **fields)


def refused(queue, jobs, **fields):
    """What is wrong, by pointer; nothing was made."""
    with pytest.raises(BadInput) as error:
        submit(queue, jobs, **fields)
    assert not Job.objects.exists()
    assert not Workflow.objects.exists()
    return {fault.pointer: fault.detail for fault in error.value.errors}


def test_the_five_job_diamond_runs_in_its_order(queue, session):
    film = begin(queue, name="film")
    assert states(film) == {
        "script": "queued",
        "voice": "blocked",
        "images": "blocked",
        "video": "blocked",
        "compositing": "blocked",
    }
    assert standing(film) == "pending"
    assert work(session, queue, only=1) == ["script"]
    assert standing(film) == "running"
    assert work(session, queue) == ["voice", "images", "video", "compositing"]
    assert standing(film) == "completed"


def test_jobs_are_answered_as_they_were_given_and_children_may_stand_before_their_parents(queue):
    begun = submit(queue, jobs_of(queue, {"last": ["first"], "first": []}))
    assert [(one.name, one.placed.state) for one in begun.jobs] == [("last", "blocked"), ("first", "queued")]
    last, first = (one.placed.job_id for one in begun.jobs)
    assert first < last
    assert list(Dependency.objects.values_list("parent_id", "child_id")) == [(first, last)]
    assert look(first).has_dependents
    assert not look(last).has_dependents
    assert {look(job).workflow_id for job in (first, last)} == {begun.workflow.pk}
    [event] = told("workflow.submitted")
    assert event.data == {"workflow": str(begun.workflow.pk), "name": "", "jobs": 2}


def test_fields_of_the_whole_are_kept_and_its_priority_is_that_of_jobs_without_one(queue):
    jobs = jobs_of(queue, {"a": [], "b": ["a"]})
    jobs[1]["priority"] = -5
    made = submit(queue, jobs, name="film", priority=7, labels={"film": "one"}).workflow
    assert (made.name, made.priority, made.labels) == ("film", 7, {"film": "one"})
    assert [look(step(made, name)).priority for name in "ab"] == [7, -5]


def test_queues_are_named_by_name_or_id_and_may_differ(queue):
    other = QueueFactory.create(project=queue.project)
    jobs = jobs_of(queue, {"a": [], "b": ["a"]})
    jobs[1]["queue"] = str(other.pk)
    made = submit(queue, jobs).workflow
    assert [look(step(made, name)).queue_id for name in "ab"] == [queue.pk, other.pk]


def test_a_job_may_wait_for_one_that_is_there_already(queue, session):
    parent = enqueue(queue)
    made = begin(queue, {"a": [str(parent)], "b": ["a", parent]})
    assert states(made) == {"a": "blocked", "b": "blocked"}
    finish(session, take_one(session, queue))
    assert states(made) == {"a": "queued", "b": "blocked"}


def test_what_waits_for_a_parent_that_is_dead_is_cancelled_with_all_that_waits_for_it(queue, session):
    dead = enqueue(queue)
    fail_for_good(session, queue, dead)
    made = begin(queue, {"a": [dead], "b": ["a"], "c": []})
    assert states(made) == {"a": "cancelled", "b": "cancelled", "c": "queued"}
    assert reason(step(made, "b")) == "parent_failed"


@pytest.mark.parametrize(
    ("parents", "path", "pointer"),
    [
        ({"a": ["c"], "b": ["a"], "c": ["b"]}, "a → b → c → a", "#/jobs/0/depends_on"),
        ({"x": [], "a": ["x", "b"], "b": ["a"], "y": ["b"]}, "a → b → a", "#/jobs/1/depends_on"),
        ({"y": ["b"], "b": ["a"], "a": ["b"]}, "b → a → b", "#/jobs/1/depends_on"),
    ],
)
def test_a_cycle_is_refused_and_its_path_is_named(queue, parents, path, pointer):
    assert refused(queue, jobs_of(queue, parents)) == {pointer: f"These jobs wait for each other: {path}."}


def test_a_cycle_of_ten_thousand_is_found_without_recursion(queue, settings):
    settings.BATCH_MAX = 10_000
    ring = {f"j{n}": [f"j{(n - 1) % 10_000}"] for n in range(10_000)}
    assert list(refused(queue, jobs_of(queue, ring))) == ["#/jobs/0/depends_on"]


def test_names_that_are_unknown_double_missing_or_its_own_are_pointed_at(queue):
    jobs = jobs_of(queue, {"a": ["a", "b", "nobody", 7]})
    jobs += [{"name": "b", "queue": queue.name, "type": "ping"}] * 2
    jobs += [{"queue": queue.name, "type": "ping"}, {"name": 5, "type": "ping"}, {"name": "x" * 129}]
    found = refused(queue, jobs)
    assert found.keys() == {
        "#/jobs/0/depends_on/0",
        "#/jobs/0/depends_on/2",
        "#/jobs/0/depends_on/3",
        "#/jobs/2/name",
        "#/jobs/3/name",
        "#/jobs/4/name",
        "#/jobs/4/queue",
        "#/jobs/5/name",
        "#/jobs/5/queue",
    }
    assert found["#/jobs/0/depends_on/0"] == "A job cannot wait for itself."


def test_a_job_id_that_is_unknown_or_foreign_is_pointed_at_as_given(queue):
    foreign = enqueue(QueueFactory.create())
    for other in (uuid4(), foreign):
        with pytest.raises(BadInput) as error:
            begin(queue, {"last": ["first", other], "first": []})
        assert [fault.pointer for fault in error.value.errors] == ["#/jobs/0/depends_on/1"]
        assert Workflow.objects.count() == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", 5000),
        ("queue", "nowhere"),
        ("depends_on", "a"),
        ("workflow", "01a22857-0c1d-7be2-9d0a-3f5c8e6a1b20"),
        ("type", ""),
    ],
)
def test_faults_of_a_job_are_pointed_at(queue, field, value):
    jobs = jobs_of(queue, {"a": [], "b": []})
    jobs[1][field] = value
    assert list(refused(queue, jobs)) == [f"#/jobs/1/{field}"]


def test_faults_of_the_whole_are_pointed_at(queue):
    assert list(refused(queue, jobs_of(queue), priority=5000, name="")) == ["#/priority", "#/name"]
    with pytest.raises(UnknownField):
        submit(queue, jobs_of(queue), nonsense=1)
    assert list(refused(queue, [])) == ["#/jobs"]
    assert list(refused(queue, jobs_of(queue, {f"j{n}": [] for n in range(1001)}))) == ["#/jobs"]


def test_a_thousand_parents_are_taken_and_one_more_is_not(queue, settings):
    settings.BATCH_MAX = 1002
    many: dict[str, list[str]] = {f"j{n}": [] for n in range(1001)}
    assert list(refused(queue, jobs_of(queue, {**many, "last": list(many)}))) == ["#/jobs/1001/depends_on"]
    made = begin(queue, {**many, "last": list(many)[:1000] * 2})
    assert look(step(made, "last")).pending == 1000


def test_a_queue_that_is_full_refuses_the_whole(queue):
    Queue.objects.update(max_depth=6)
    Depth.objects.create(queue=queue, queued=3)
    with pytest.raises(QueueFull):
        begin(queue)
    assert not Job.objects.exists()


def test_a_unique_key_that_a_live_job_holds_refuses_the_whole(queue):
    holder = enqueue(queue, unique_key="k")
    jobs = [*jobs_of(queue), {"name": "keyed", "queue": queue.name, "type": "ping", "unique_key": "k"}]
    with pytest.raises(KeyTaken) as error:
        submit(queue, jobs)
    assert error.value.extra == {"job_id": str(holder)}
    assert Job.objects.count() == 1


def test_a_project_is_named_by_its_slugs(queue, project, organization):
    made = services.submit_workflow(project="acme/media", jobs=jobs_of(queue)).workflow
    assert made.project == project
    for name in ("acme/nowhere", "acme", "a/b/c", "\0/x"):
        with pytest.raises(NotFound):
            services.submit_workflow(project=name, jobs=[])


# Jobs that join later.


def test_a_job_submitted_alone_joins_a_workflow_of_its_project(queue):
    made = begin(queue)
    for place in (
        services.submit(queue=queue, type="ping", workflow=str(made.pk)).pk,
        services.submit_batch(queue=queue, jobs=[{"type": "ping", "workflow": made.pk}]).jobs[0].job_id,
    ):
        assert look(place).workflow_id == made.pk
    assert Step.objects.count() == 5


def test_a_job_does_not_join_a_workflow_that_is_absent_foreign_or_cancelled(queue):
    foreign = begin(QueueFactory.create(project=ProjectFactory.create()))
    for other in (uuid4(), foreign.pk):
        with pytest.raises(BadInput) as error:
            services.submit(queue=queue, type="ping", workflow=other)
        assert error.value.errors[0].pointer == "#/workflow"
    with pytest.raises(BadInput):
        services.submit(queue=queue, type="ping", workflow="film")
    mine = begin(queue)
    services.cancel_workflow(workflow=mine, actor=ANN)
    with pytest.raises(IllegalMove):
        services.submit(queue=queue, type="ping", workflow=mine.pk)


def test_a_job_that_joins_a_paused_workflow_is_paused(queue, session):
    made = begin(queue, {"a": []})
    services.pause_workflow(workflow=made, actor=ANN)
    placed = services.submit_one(queue=queue, fields={"type": "ping", "workflow": made.pk})
    assert (placed.state, state(placed.job_id)) == ("paused", "paused")
    assert isinstance(placed.job_id, UUID)
    services.resume_workflow(workflow=made, actor=ANN)
    assert work(session, queue) == ["a", "?"]
