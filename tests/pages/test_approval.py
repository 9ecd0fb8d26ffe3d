"""A job that waits for somebody's word: what it asks, who may answer, and what was said."""

from django.urls import reverse

from apps.accounts.models import Role
from apps.audit.record import Actor
from apps.jobs import services
from apps.jobs.selectors import find
from tests import acts
from tests.pages.looks import text_of
from tests.pages.test_job import page, post


def asking(queue, session):
    job_id = acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue), outcome="needs_approval", result='{"draft": "a sheet"}')
    return job_id


def test_it_says_since_when_it_waits_and_what_for(viewer, queue, session):
    seen = text_of(page(viewer, asking(queue, session)))
    assert "its handler asks whether it may go on" in seen
    assert "Its handler waits for somebody's approval of what it has done so far, since" in seen
    assert "Result so far" in seen
    assert "a sheet" in seen
    assert "asked for approval" in seen
    assert "somebody must say" in text_of(page(viewer, acts.enqueue(queue, requires_approval=True)))


def test_members_are_offered_to_decide_and_viewers_are_not(enter, queue, session):
    plain, asked = acts.enqueue(queue, requires_approval=True), asking(queue, session)

    def offers(role, job_id):
        seen = page(enter(role), job_id).content.decode()
        return {verb for verb in ("approve", "reject", "retry") if reverse(f"dashboard:{verb}", args=[job_id]) in seen}

    assert offers(Role.MEMBER, plain) == {"approve", "reject"}
    assert offers(Role.MEMBER, asked) == {"approve", "reject", "retry"}
    assert offers(Role.VIEWER, asked) == set()
    assert enter(Role.VIEWER).post(reverse("dashboard:approve", args=[plain])).status_code == 403


def test_it_is_approved_with_a_note_and_says_so(member, queue):
    job_id = acts.enqueue(queue, requires_approval=True)
    seen = text_of(post(member, "approve", job_id, note="looks right"))
    assert find(job_id).state == "queued"
    assert "Approved by" in seen
    assert "looks right" in seen


def test_it_is_rejected_with_a_note_and_says_so(member, queue):
    job_id = acts.enqueue(queue, requires_approval=True)
    seen = text_of(post(member, "reject", job_id, note="wrong <customer>"))
    assert find(job_id).state == "cancelled"
    assert ": rejected" in seen
    assert "wrong <customer>" in seen


def test_deciding_twice_is_said_and_changes_nothing(member, queue):
    job_id = acts.enqueue(queue, requires_approval=True)
    post(member, "approve", job_id)
    assert "this one is queued" in text_of(post(member, "reject", job_id))
    assert find(job_id).state == "queued"


def test_the_strip_of_time_says_that_it_waits_for_a_person_and_later_that_it_did(member, queue, session):
    job_id = acts.enqueue(queue, requires_approval=True)
    assert "Waits for approval" in text_of(member.get(f"/jobs/{job_id}"))
    services.approve(job_id=job_id, actor=Actor(name="ann@example.com"))
    acts.take(session, queue)
    later = text_of(member.get(f"/jobs/{job_id}"))
    assert "Waited for approval" in later
    assert "Waits for approval" not in later
