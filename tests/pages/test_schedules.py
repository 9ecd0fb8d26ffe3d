"""The pages of schedules: what comes, what came, and the switches."""

from datetime import datetime, timedelta

from django.urls import reverse

from apps.jobs.models import Schedule, Tick
from tests.jobs.schedules import MINUTELY, again, come_due, fire, jobs, make_schedule
from tests.pages.looks import elements_of, text_of


def test_the_list_tells_when_and_how_it_went(viewer, queue):
    nightly = make_schedule(queue, "30 2 * * *", timezone="Europe/Berlin")
    make_schedule(queue, name="other")
    come_due(nightly)
    fire()
    page = text_of(viewer.get("/schedules"))
    assert page.index("other") < page.index("nightly")
    assert "30 2 * * * Europe/Berlin" in page
    assert "fired 1" in page
    assert "Run now" not in page


def test_the_list_goes_on_where_a_page_ends(viewer, queue):
    for number in range(55):
        make_schedule(queue, name=f"n{number:02}")
    first = viewer.get("/schedules")
    [older] = [attrs["href"] for tag, attrs in elements_of(first) if tag == "a" and attrs.get("rel") == "next"]
    rest = text_of(viewer.get(f"/schedules{older}"))
    assert "n54" in text_of(first)
    assert [f"n{number:02}" in rest for number in range(6)] == [True] * 5 + [False]


def test_its_page_shows_what_comes_in_its_zone_over_a_change_of_the_clocks(viewer, queue, monkeypatch):
    nightly = make_schedule(queue, "30 2 * * *", timezone="America/New_York")
    moment = datetime.fromisoformat("2027-03-13T00:00:00Z")
    monkeypatch.setattr("apps.dashboard.views.schedules.now", lambda: moment)
    page = text_of(viewer.get(f"/schedules/{nightly.pk}"))
    for shown in ("Sat 2027-03-13 02:30 EST", "Sun 2027-03-14 03:00 EDT", "Mon 2027-03-15 02:30 EDT"):
        assert shown in page
    assert "2027-03-14 07:00:00 UTC" in page


def test_its_ledger_leads_to_jobs_and_to_older_ticks(viewer, queue):
    minutely = make_schedule(queue, MINUTELY)
    come_due(minutely, ago=timedelta(minutes=70))
    fire()
    page = viewer.get(f"/schedules/{minutely.pk}")
    assert f"/jobs/{jobs(minutely)[0].pk}" in page.content.decode()
    assert "No scheduler was there in time." in text_of(page)
    [older] = [attrs["href"] for tag, attrs in elements_of(page) if tag == "a" and attrs.get("rel") == "next"]
    rest = viewer.get(f"/schedules/{minutely.pk}{older}").content.decode()
    assert rest.count(">missed<") == Tick.objects.count() - 50
    assert viewer.get(f"/schedules/{minutely.pk}?before=nonsense").status_code == 200


def test_it_is_paused_resumed_and_run_by_hand(member, queue):
    nightly = make_schedule(queue)
    for verb in ("pause", "run", "resume"):
        member.post(reverse(f"dashboard:{verb}_schedule", args=[nightly.pk]), {"reason": "holidays"})
        page = text_of(member.get(f"/schedules/{nightly.pk}"))
        assert ("Paused by" in page and "holidays" in page) == (verb != "resume")
    assert len(jobs(nightly)) == 1
    refused = member.post(reverse("dashboard:run_schedule", args=[nightly.pk]), follow=True)
    assert "has not ended" in text_of(refused)


def test_one_in_trouble_says_why(viewer, queue):
    nightly = make_schedule(queue)
    Schedule.objects.update(cron_expr="garbage")
    come_due(nightly)
    fire()
    assert again(nightly).trouble in text_of(viewer.get(f"/schedules/{nightly.pk}"))
    assert "in trouble" in text_of(viewer.get("/schedules"))


def test_a_payload_is_hidden_from_roles_too_low(viewer, member, queue):
    nightly = make_schedule(queue, payload={"secret": "42 apples"})
    queue.hide_payloads_below = "member"
    queue.save()
    assert "42 apples" in text_of(member.get(f"/schedules/{nightly.pk}"))
    assert "42 apples" not in text_of(viewer.get(f"/schedules/{nightly.pk}"))
