"""One schedule that cannot fire keeps no other waiting, and says why it does not. Case H10."""

import time

import pytest
import structlog

from apps.errors import BadInput
from apps.jobs import services
from tests.jobs.looks import ANN, run, told
from tests.jobs.schedules import again, come_due, fire, jobs, make_schedule, said

BAD = {
    "0 0 30 2 *": "never comes",
    "garbage": "Five fields",
    "* * * * * *": "Five fields",
}


def spoil(schedule, **columns):
    """As nobody could through a door."""
    for column, value in columns.items():
        run(f"UPDATE jobs_schedule SET {column} = %s WHERE id = %s", [value, schedule.pk])


def test_ninety_seven_of_a_hundred_fire_while_three_are_set_aside(queue):
    many = [make_schedule(queue, name=f"n{n}") for n in range(100)]
    never, garbage, nowhere, *good = many
    spoil(never, cron_expr="0 0 30 2 *")
    spoil(garbage, cron_expr="garbage")
    spoil(nowhere, timezone="Mars/Phobos")
    for minute in (1, 2):
        for one in good:
            run("UPDATE jobs_schedule SET last_job_id = NULL WHERE id = %s", [one.pk])
        come_due(*(many if minute == 1 else good))
        with structlog.testing.capture_logs() as logs:
            fire()
        assert {len(jobs(one)) for one in good} == {minute}
        assert len([line for line in logs if line["log_level"] == "error"]) == (3 if minute == 1 else 0)
    assert "never comes" in again(never).trouble
    assert "Five fields" in again(garbage).trouble
    assert "IANA" in again(nowhere).trouble
    assert all(again(one).next_run_at is None and not jobs(one) for one in (never, garbage, nowhere))


@pytest.mark.parametrize(("expression", "why"), BAD.items())
def test_the_log_of_the_project_says_that_it_fires_no_more(queue, expression, why):
    nightly = make_schedule(queue)
    spoil(nightly, cron_expr=expression)
    come_due(nightly)
    fire()
    fire()
    [event] = told("schedule.troubled")
    [facts] = said("schedule.troubled")
    assert (event.queue_id, facts["schedule"], facts["name"]) == (queue.pk, str(nightly.pk), "nightly")
    assert why in facts["trouble"]


def test_a_schedule_that_breaks_the_database_is_set_aside_alone(queue):
    """As a condition would that somebody added by hand."""
    many = [make_schedule(queue, name=f"n{n}") for n in range(5)]
    come_due(*many)
    run(
        "CREATE FUNCTION pg_temp.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'it broke' USING ERRCODE = '22000'; END $$"
    )
    run(
        "CREATE TRIGGER refuse BEFORE INSERT ON jobs_tick FOR EACH ROW"
        f" WHEN (NEW.schedule_id = '{many[2].pk}') EXECUTE FUNCTION pg_temp.refuse()"
    )
    with structlog.testing.capture_logs():
        assert fire() == 5
    assert [len(jobs(one)) for one in many] == [1, 1, 0, 1, 1]
    assert "it broke" in again(many[2]).trouble
    assert again(many[2]).next_run_at is None


@pytest.mark.parametrize("mend", ["change", "resume"])
def test_a_schedule_in_trouble_fires_again_once_it_is_mended(queue, mend):
    nightly = make_schedule(queue)
    spoil(nightly, cron_expr="garbage")
    come_due(nightly)
    fire()
    with pytest.raises(BadInput):
        services.resume_schedule(schedule=nightly, actor=ANN)
    if mend == "change":
        services.update_schedule(schedule=nightly, actor=ANN, cron_expr="5 * * * *")
    else:
        spoil(nightly, cron_expr="5 * * * *")
        services.resume_schedule(schedule=nightly, actor=ANN)
    assert (again(nightly).trouble, again(nightly).next_run_at.minute) == ("", 5)
    come_due(nightly)
    fire()
    assert len(jobs(nightly)) == 1


@pytest.mark.parametrize(
    "expression", ["29 2 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 2 *", "* * * * * *"]
)
def test_what_never_comes_is_refused_when_it_is_made_and_when_it_is_changed(queue, expression):
    nightly = make_schedule(queue)
    for act in (
        lambda: make_schedule(queue, expression, name="other"),
        lambda: services.update_schedule(schedule=nightly, actor=ANN, cron_expr=expression),
    ):
        began = time.thread_time()
        with pytest.raises(BadInput) as refused:
            act()
        assert refused.value.errors[0].pointer == "#/cron_expr"
        assert time.thread_time() - began < 0.1  # of the processor


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timezone", "Mars/Phobos"),
        ("timezone", "Factory"),
        ("timezone", "EST5EDT,M3.2.0,M11.1.0"),
        ("job_type", ""),
        ("payload", {"a": "x\x00y"}),
        ("payload", {"x": float("nan")}),
        ("priority", 1001),
        ("overlap_policy", "perhaps"),
        ("catchup_policy", "perhaps"),
        ("catchup_max", 0),
        ("jitter_seconds", -1),
        ("deadline_seconds", 0),
        ("name", "x" * 129),
    ],
)
def test_a_field_that_is_wrong_is_named(queue, field, value):
    with pytest.raises(BadInput) as refused:
        make_schedule(queue, **{field: value})
    assert [one.pointer for one in refused.value.errors] == [f"#/{field}"]


def test_a_type_the_queue_does_not_take_is_refused(queue):
    queue.allowed_types = ["pong"]
    queue.save()
    with pytest.raises(BadInput) as refused:
        make_schedule(queue)
    assert refused.value.errors[0].pointer == "#/job_type"
