"""The pages of workflows and batches: the list, the graph, the steps, the verbs."""

from django.urls import reverse

from apps.dashboard.selectors import graph
from apps.jobs import services
from apps.jobs.selectors.workflows import steps
from apps.jobs.states import FINAL
from tests.acts import finish, take, take_one
from tests.jobs.workflows import DIAMOND, again, begin, standing, states, step, work
from tests.pages.looks import elements_of, text_of


def test_the_list_tells_how_far_each_is(viewer, queue, session):
    begin(queue, name="first film")
    begin(queue, {"a": [], "b": []}, name="second film")
    work(session, queue, fail=["script"], only=1)
    page = text_of(viewer.get("/workflows"))
    assert page.index("second film") < page.index("first film")
    assert "failed" in page
    assert "pending" in page


def test_the_list_goes_on_where_a_page_ends(viewer, queue):
    for number in range(52):
        begin(queue, {"a": []}, name=f"n{number:02}")
    first = viewer.get("/workflows")
    [older] = [attrs["href"] for tag, attrs in elements_of(first) if tag == "a" and attrs.get("rel") == "next"]
    rest = text_of(viewer.get(f"/workflows{older}"))
    assert "n51" in text_of(first)
    assert [f"n{number:02}" in rest for number in range(3)] == [True, True, False]


def test_its_page_draws_the_graph_and_every_step_leads_to_its_job(viewer, queue):
    film = begin(queue, name="film")
    page = viewer.get(f"/workflows/{film.pk}")
    found = elements_of(page)
    boxes = [attrs for tag, attrs in found if tag == "rect"]
    assert len(boxes) == len(DIAMOND)
    assert len({box["x"] for box in boxes}) == 4  # layers
    assert len([tag for tag, attrs in found if tag == "path" and "flow-tie" in (attrs.get("class") or "")]) == 5
    for name in DIAMOND:
        assert f"/jobs/{step(film, name)}" in page.content.decode()
        assert name in text_of(page)


def test_steps_tell_errors_results_and_what_they_wait_for(viewer, queue, session):
    film = begin(queue)
    finish(session, take_one(session, queue), result='{"words": 412}')
    finish(session, take_one(session, queue), outcome="permanent_error", error_class="OSError", error_message="No.")
    page = text_of(viewer.get(f"/workflows/{film.pk}"))
    assert '{"words": 412}' in page
    assert "OSError: No." in page
    assert "1 parent" in page


def test_results_are_hidden_from_a_role_too_low(viewer, member, queue, session):
    film = begin(queue)
    finish(session, take_one(session, queue), result='"42 apples"')
    queue.hide_payloads_below = "member"
    queue.save()
    assert "42 apples" in text_of(member.get(f"/workflows/{film.pk}"))
    assert "42 apples" not in text_of(viewer.get(f"/workflows/{film.pk}"))


def test_one_too_large_to_draw_is_listed(viewer, queue, monkeypatch):
    monkeypatch.setattr(graph, "DRAWN", 3)
    film = begin(queue)
    assert "Too large to draw" in text_of(viewer.get(f"/workflows/{film.pk}"))
    assert graph.drawing(steps(film)[0], ended=FINAL) is None


def test_steps_that_are_alike_and_hang_alike_are_one_pile(viewer, queue, session):
    names = [f"n{number}" for number in range(9)]
    film = begin(queue, {"first": [], **dict.fromkeys(names, ["first"]), "last": names})
    work(session, queue, fail=["n4"])
    drawn = graph.drawing(steps(film)[0], ended=FINAL)
    assert drawn is not None
    assert [(len(box.steps), box.step.state) for box in drawn.boxes] == [
        (1, "completed"),
        (9, "dead_letter"),
        (1, "cancelled"),
    ]
    assert len(drawn.ties) == 2
    page = text_of(viewer.get(f"/workflows/{film.pk}"))
    assert "9 × " in page
    assert "1 dead letter, 8 completed" in page


def test_what_a_tenant_calls_things_is_shown_as_text(viewer, queue):
    hostile = "<svg onload=alert(1)>{{7*7}}"
    film = begin(queue, {hostile: []}, name=hostile)
    for at in ("/workflows", f"/workflows/{film.pk}"):
        page = viewer.get(at)
        assert not any("onload" in attrs for _, attrs in elements_of(page))
        assert "{{7*7}}" in page.content.decode()


def test_it_is_steered_by_its_buttons(member, queue, session):
    film = begin(queue)

    def press(name, **fields):
        return text_of(member.post(reverse(f"dashboard:{name}", args=[film.pk]), fields, follow=True))

    assert "nothing of it starts" in press("pause_workflow", reason="holidays")
    assert standing(film) == "paused"
    assert "Resumed" in press("resume_workflow")
    assert "changed" in press("priority_workflow", priority="7")
    assert again(film).priority == 7
    assert "Moved" in press("move_workflow", to="top")
    assert "next of their queues" in press("run_workflow_next")
    assert "Nothing of this workflow has failed" in press("retry_workflow")
    work(session, queue, fail=["script"])
    assert "runs again" in press("retry_workflow")
    assert states(film)["script"] == "queued"
    assert "Cancelled" in press("cancel_workflow")
    assert standing(film) == "cancelled"
    assert "Move it" in press("move_workflow", to="moon")


def test_a_batch_tells_how_far_it_is_what_follows_and_is_cancelled(member, viewer, queue, session):
    jobs = [{"type": "ping"}] * 4
    batch = services.submit_batch(queue=queue, jobs=jobs, on_complete={"type": "publish"}).batch
    at = f"/batches/{batch.pk}"
    finish(session, *take(session, queue, limit=1))
    page = text_of(viewer.get(at))
    assert "25.0 % of 4 jobs have ended" in page
    assert "publish, once all have ended" in page
    assert "Cancelled" in text_of(member.post(f"{at}/cancel", follow=True))
    services.complete_batches()
    ended = viewer.get(at)
    assert "100.0 %" in text_of(ended)
    assert any("/jobs/" in (attrs.get("href") or "") for _, attrs in elements_of(ended))
    assert "has ended" in text_of(member.post(f"{at}/cancel", follow=True))


def test_a_job_leads_to_its_workflow_and_its_batch(viewer, queue):
    film = begin(queue, {"a": []})
    made = services.submit_batch(queue=queue, jobs=[{"type": "ping"}])
    assert f"/workflows/{film.pk}" in viewer.get(f"/jobs/{step(film, 'a')}").content.decode()
    assert f"/batches/{made.batch.pk}" in viewer.get(f"/jobs/{made.jobs[0].job_id}").content.decode()
