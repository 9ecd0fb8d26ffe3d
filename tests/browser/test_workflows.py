"""The graph of a workflow as a person meets it."""

import pytest
from playwright.sync_api import expect

from apps.accounts.models import Role
from tests.acts import finish, take_one
from tests.browser.conftest import PHONE
from tests.jobs.workflows import begin, standing, step

pytestmark = pytest.mark.browser


def test_a_step_of_the_graph_leads_to_its_job_and_a_sheet_pauses_the_whole(visit, queue, session, shots):
    film = begin(queue, name="film 7", labels={"film": "7"})
    finish(session, take_one(session, queue), result='{"words": 412}')
    finish(
        session, take_one(session, queue), outcome="permanent_error", error_class="OSError", error_message="No sound."
    )
    take_one(session, queue)
    for options in ({}, {"viewport": PHONE}, {"color_scheme": "dark"}):
        visitor = visit(Role.MEMBER, **options)
        page = visitor.go(f"/workflows/{film.pk}")
        expect(page.locator(".flow-step")).to_have_count(5)
        assert not visitor.overflows()
        if shots:
            page.screenshot(path=shots / f"workflow-{len(str(options))}.png", full_page=True)
    page.locator(".flow-graph a").first.click()
    page.wait_for_url(f"**/jobs/{step(film, 'script')}")
    page.go_back()
    page.get_by_role("button", name="Pause").click()
    page.locator("#pause input[name=reason]").fill("the customer asked")
    page.locator("#pause").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("nothing of it starts").first).to_be_visible()
    assert standing(film) == "paused"
