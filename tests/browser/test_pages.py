"""The pages as a person meets them."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import Role
from apps.audit.relay import relay
from apps.jobs.models import Progress
from apps.jobs.selectors import find
from tests import acts
from tests.browser.conftest import PHONE
from tests.jobs.schedules import MINUTELY, come_due, fire, make_schedule
from tests.pages.test_markup import HOSTILE

pytestmark = pytest.mark.browser


def die(session, queue, **error):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="permanent_error", **error)
    return job_id


def test_one_logs_in_looks_and_logs_out(visit, queue, session):
    acts.enqueue(queue)
    page = visit().page
    expect(page.get_by_role("heading", name=queue.project.name)).to_be_visible()
    expect(page.get_by_role("link", name=queue.name, exact=True)).to_be_visible()
    page.locator(".who summary").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(re.compile("/accounts/login/"))


def test_the_last_jobs_move_without_a_reload(visit, queue, session):
    page = visit().page
    expect(page.locator("[data-pulse]")).to_have_text("live")
    expect(page.locator("[data-empty]")).to_be_visible()
    job_id = acts.enqueue(queue)
    relay()
    row = page.locator(f"#job-{job_id}")
    expect(row).to_contain_text("queued")
    taken = acts.take_one(session, queue)
    relay()
    expect(row).to_contain_text("running")
    acts.finish(session, taken)
    relay()
    expect(row).to_contain_text("completed")
    expect(page.locator("[data-empty]")).to_be_hidden()


def test_what_moved_last_comes_first_unless_the_list_is_being_read(visit, queue):
    page = visit().page
    first = acts.enqueue(queue)
    relay()
    expect(page.locator(f"#job-{first}")).to_be_visible()
    page.locator(f"#job-{first}").hover()
    second = acts.enqueue(queue)
    relay()
    expect(page.locator("[data-held]")).to_have_text("1 new")
    assert page.locator("#moves .row-job").first.get_attribute("data-job") == str(first)
    page.get_by_role("heading", name="Last jobs").hover()
    expect(page.locator("#moves .row-job").first).to_have_attribute("data-job", str(second))


def test_a_stream_that_broke_goes_on_where_it_was(visit, queue):
    visitor = visit()
    page = visitor.page
    expect(page.locator("[data-pulse]")).to_have_text("live")
    page.context.set_offline(True)
    page.evaluate("document.querySelector('[data-pulse]').dataset.state")
    missed = acts.enqueue(queue)
    relay()
    page.context.set_offline(False)
    expect(page.locator(f"#job-{missed}")).to_be_visible(timeout=20_000)
    visitor.complaints.clear()  # being offline is said on the console


def test_a_job_is_followed_to_its_end(visit, queue, session):
    job_id = acts.enqueue(queue)
    page = visit().go(f"/jobs/{job_id}")
    expect(page.locator(".job-state")).to_contain_text("queued")
    expect(page.locator("[data-pulse]")).to_have_text("live")
    taken = acts.take_one(session, queue)
    relay()
    expect(page.locator(".job-state")).to_contain_text("running")
    acts.finish(session, taken)
    relay()
    expect(page.locator(".job-state")).to_contain_text("completed")
    expect(page.locator("[data-pulse]")).to_have_count(0)


def test_progress_is_drawn_from_the_stream_alone(visit, queue, session):
    job_id = acts.enqueue(queue)
    acts.take_one(session, queue)
    said = Progress.objects.create(
        job_id=job_id, fence=find(job_id).fence, attempt=1, stage="reading", done=1, total=4, at=timezone.now()
    )
    page = visit().go(f"/jobs/{job_id}")
    expect(page.locator("[data-pulse]")).to_have_text("live")
    page.route(f"**/jobs/{job_id}", lambda route: route.fulfill(status=204))  # the page gets nothing by asking
    said.stage, said.done, said.at = "writing <b>", 3, timezone.now()
    said.save()
    expect(page.locator("[data-far]")).to_have_text("3 of 4")
    expect(page.locator("[data-stage]")).to_have_text("writing <b>")
    expect(page.locator("[data-progress]")).to_have_js_property("value", 3)


def test_a_job_is_cancelled_after_asking_once(visit, queue):
    job_id = acts.enqueue(queue)
    page = visit().go(f"/jobs/{job_id}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Keep it").click()
    assert find(job_id).state == "queued"
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator(".job-state")).to_contain_text("cancelled")
    assert find(job_id).state == "cancelled"


def test_a_dialog_is_not_swept_away_by_a_refresh(visit, queue):
    job_id = acts.enqueue(queue)
    page = visit().go(f"/jobs/{job_id}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.evaluate("htmx.trigger('#job', 'moved')")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.get_by_role("button", name="Cancel the job")).to_be_visible()


def test_a_dead_letter_is_replayed(visit, queue, session):
    job_id = die(session, queue, error_class="KeyError", error_message="'to'", traceback="line 1")
    page = visit().go("/dead-letters")
    expect(page.get_by_text("KeyError")).to_be_visible()
    page.get_by_role("link", name=acts.PING).click()
    page.get_by_text("Traceback").click()
    expect(page.get_by_text("line 1")).to_be_visible()
    page.get_by_role("button", name="Replay", exact=True).click()
    page.locator("#replay").get_by_role("button", name="Replay").click()
    expect(page.locator(".job-state")).to_contain_text("queued")
    assert find(job_id).state == "queued"


def test_a_queue_is_paused_with_a_reason_and_resumed(visit, queue):
    page = visit().go(f"/queues/{queue.pk}")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.locator("#pause").get_by_label("Reason").fill("the other side is down")
    page.locator("#pause").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("the other side is down")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("status")).to_contain_text("goes on")


def test_the_keyboard_is_enough(visit, queue, session):
    job_id = acts.enqueue(queue, type="some.type")
    page = visit().page
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("w")
    expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name=queue.project.name)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(str(job_id))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="some.type")).to_be_visible()


def test_times_are_in_the_viewers_zone_on_hover(visit, queue):
    job_id = acts.enqueue(queue)
    page = visit(timezone_id="Asia/Kathmandu").go(f"/jobs/{job_id}")
    expect(page.locator("time[data-time=ago]").first).to_have_attribute("title", re.compile(r"Kat[h]?mandu"))


def test_dark_is_remembered_and_the_admin_shares_it(visit, queue):
    page = visit(staff=True, color_scheme="light").page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark mode").click()
    assert page.evaluate(background) != light
    page.get_by_role("link", name="Admin").click()
    expect(page.locator("html")).to_have_class(re.compile("dark"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(scheme, visit, queue, session, shots):
    dead = die(session, queue, error_class="A" * 100, error_message="b" * 300, traceback="c" * 300)
    acts.enqueue(queue, type="t" * 128)
    visitor = visit(Role.ADMIN, viewport=PHONE, color_scheme=scheme)
    page = visitor.page
    for name, path in _places(queue, dead):
        visitor.go(path)
        assert not visitor.overflows(), name
        if shots:
            page.screenshot(path=shots / f"phone-{scheme}-{name}.png", full_page=True)
    visitor.go("/")
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Workers", exact=True)).to_be_visible()
    assert not visitor.overflows()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme, visit, queue, session):
    """AA: 4.5 to 1, or 3 to 1 for large text."""
    dead = die(session, queue, error_class="KeyError", error_message="'to'")
    for _ in range(3):
        acts.enqueue(queue)
    acts.take(session, queue, limit=1)
    visitor = visit(Role.ADMIN, color_scheme=scheme)
    for name, path in _places(queue, dead):
        visitor.go(path)
        assert visitor.page.evaluate(CONTRAST) == [], name


def test_no_markup_of_tenants_comes_alive(visit, queue, session):
    visitor = visit()
    for text in HOSTILE:
        offers: dict[str, int | None] = {text: None}
        job_id = acts.enqueue(queue, type=text, payload='{"x": "<img src=x onerror=alert(1)>"}')
        taken = acts.take(session, queue, offers=offers)
        error = {"error_class": text, "error_message": text, "traceback": text}
        acts.finish(session, *taken, outcome="permanent_error", **error)
        relay()
        visitor.go(f"/jobs/{job_id}")
        expect(visitor.page.locator("h1")).to_have_text(re.compile(f"^{re.escape(text)}"))
    visitor.go("/")
    expect(visitor.page.locator(".row-job")).to_have_count(len(HOSTILE))
    assert visitor.page.locator("img[src=x], main script, main svg[onload]").count() == 0


def test_the_admin_pauses_a_queue_and_breaks_no_rule_of_its_policy(visit, queue, session):
    job_id = die(session, queue, error_class="KeyError")
    visitor = visit(Role.OWNER, staff=True)
    page = visitor.go("/admin/")
    row = page.get_by_role("row").filter(has_text=queue.project.organization.name + " /")
    row.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("is paused; what runs goes on")).to_be_visible()
    row.get_by_role("button", name="Resume").click()
    for model in ("jobs/job", "jobs/attempt", "workers/worker", "audit/entry", "accounts/user"):
        visitor.go(f"/admin/{model}/")
    page = visitor.go(f"/admin/jobs/job/{job_id}/change/")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("Replayed: queued again")).to_be_visible()


def _places(queue, dead) -> list[tuple[str, str]]:
    schedule = make_schedule(queue, MINUTELY, name="s" * 128, deadline_seconds=60)
    come_due(schedule, ago=timedelta(minutes=3))
    fire()
    return [
        ("home", "/"),
        ("jobs", "/jobs"),
        ("workers", "/workers"),
        ("dead", "/dead-letters"),
        ("queue", f"/queues/{queue.pk}"),
        ("job", f"/jobs/{dead}"),
        ("schedules", "/schedules"),
        ("schedule", f"/schedules/{schedule.pk}"),
        ("password", "/accounts/password/change/"),
        ("sessions", "/accounts/sessions/"),
        ("factors", "/accounts/2fa/"),
    ]


# Each element with words of its own, its colour against what lies behind it, drawn as the browser draws them.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const paint = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes].filter((n) => n.nodeType === 3 && n.textContent.trim());
    if (!words.length || !element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    if (element.closest(".visually-hidden, .skip, option")) continue;
    const behind = [];
    for (let at = element; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
    const style = getComputedStyle(element);
    const back = paint(["white", ...behind]), front = paint(["white", ...behind, style.color]);
    const [low, high] = [light(back), light(front)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) weak.push(`${ratio.toFixed(2)} ${element.className} ${words[0].textContent.trim()}`);
  }
  return weak;
}"""
