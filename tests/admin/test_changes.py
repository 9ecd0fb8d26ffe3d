"""The admin's changes: by POST, by the services, written down."""

from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.urls import reverse

from apps.accounts.models import ApiToken, Membership, Role, User
from apps.audit.models import Entry
from apps.jobs.models import Job
from apps.jobs.selectors import find
from apps.queues.models import Queue, RetryPolicy
from tests import acts
from tests.admin.test_lists import list_of, page_of
from tests.factories import (
    PASSWORD,
    ApiTokenFactory,
    MembershipFactory,
    OrganizationFactory,
    ProjectFactory,
    RetryPolicyFactory,
    UserFactory,
)


def run(browser, model, action, *rows, **data):
    chosen = [str(getattr(row, "pk", row)) for row in rows]
    return browser.post(list_of(model), {"action": action, ACTION_CHECKBOX_NAME: chosen, "index": "0", **data})


def entries(target) -> list[str]:
    return list(Entry.objects.filter(target_id=str(target)).order_by("id").values_list("action", flat=True))


def form_of(browser, address) -> dict[str, Any]:
    """What a browser would send back of a form that nobody touched."""
    form = browser.get(address).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    return {name: "" if value is None else value for name, value in values.items() if value is not False}


# Queues


def test_a_queue_is_paused_and_resumed_on_its_row(console, queue):
    console.post(reverse("admin:queues_queue_pause", args=[queue.pk]))
    assert Queue.objects.get(pk=queue.pk).paused_at is not None
    console.post(reverse("admin:queues_queue_resume", args=[queue.pk]))
    assert Queue.objects.get(pk=queue.pk).paused_at is None
    assert entries(queue.pk) == ["queue.pause", "queue.resume"]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_link_pauses_nothing(verb, console, queue):
    assert console.get(reverse(f"admin:queues_queue_{verb}", args=[queue.pk])).status_code == 405
    assert entries(queue.pk) == []


def test_queues_are_paused_and_resumed_together(console, queue):
    run(console, Queue, "pause_all", queue)
    run(console, Queue, "resume_all", queue)
    assert entries(queue.pk) == ["queue.pause", "queue.resume"]


def test_a_purge_asks_once_with_the_count(console, queue):
    job_id = acts.enqueue(queue)
    asked = run(console, Queue, "purge_all", queue)
    assert f"<b>{queue.name}</b>: 1 queued" in asked.content.decode()
    assert find(job_id).state == "queued"
    run(console, Queue, "purge_all", queue, confirmed="yes")
    assert find(job_id).state == "cancelled"
    assert entries(queue.pk) == ["queue.purge"]


def test_a_changed_queue_is_written_down_before_and_after(console, queue):
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"timeout_ms": "1234"})
    assert Queue.objects.get(pk=queue.pk).timeout_ms == 1234
    [entry] = Entry.objects.filter(target_id=str(queue.pk))
    assert (entry.action, entry.before, entry.after) == ("queue.update", {"timeout_ms": 300_000}, {"timeout_ms": 1234})
    assert entry.organization_id == queue.project.organization_id


def test_a_depth_cap_and_a_weight_are_set_and_cleared_and_written_down(console, queue):
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"max_depth": "500", "weight": "3"})
    console.post(page_of(queue), form_of(console, page_of(queue)) | {"max_depth": ""})
    first, second = Entry.objects.filter(target_id=str(queue.pk)).order_by("id")
    assert (first.before, first.after) == ({"max_depth": None, "weight": 1}, {"max_depth": 500, "weight": 3})
    assert (second.before, second.after) == ({"max_depth": 500}, {"max_depth": None})


def test_a_waiting_job_says_why(console, queue):
    job = find(acts.enqueue(queue))
    assert "No live worker serves this queue" in console.get(page_of(job)).content.decode()


def test_a_new_queue_is_written_down_and_can_be_opened(console, project):
    address = reverse("admin:queues_queue_add")
    made = console.post(
        address, form_of(console, address) | {"project": str(project.pk), "name": "new", "_continue": "1"}
    )
    queue = Queue.objects.get(name="new")
    assert made["Location"] == page_of(queue)
    assert entries(queue.pk) == ["queue.create"]


def test_a_name_that_is_taken_is_refused_kindly(console, queue):
    address = reverse("admin:queues_queue_add")
    asked = form_of(console, address) | {"project": str(queue.project_id), "name": queue.name}
    assert console.post(address, asked).status_code in (200, 302)
    assert Queue.objects.filter(name=queue.name).count() == 1


# Retry policies


def test_a_policy_in_use_stays(console, queue):
    policy = RetryPolicyFactory.create(project=queue.project)
    Queue.objects.filter(pk=queue.pk).update(retry_policy=policy)
    console.post(reverse("admin:queues_retrypolicy_delete", args=[policy.pk]), {"post": "yes"})
    assert RetryPolicy.objects.filter(pk=policy.pk).exists()
    Queue.objects.filter(pk=queue.pk).update(retry_policy=None)
    console.post(reverse("admin:queues_retrypolicy_delete", args=[policy.pk]), {"post": "yes"})
    assert not RetryPolicy.objects.filter(pk=policy.pk).exists()
    assert entries(policy.pk) == ["retry_policy.delete"]


def test_a_policy_that_makes_no_sense_is_refused_and_nothing_changes(console, project):
    policy = RetryPolicyFactory.create(project=project)
    response = console.post(page_of(policy), form_of(console, page_of(policy)) | {"kind": "intervals"}, follow=True)
    assert "needs at least one interval" in response.content.decode()
    assert RetryPolicy.objects.get(pk=policy.pk).kind == policy.kind


# Jobs


def test_a_job_is_cancelled_retried_and_replayed(console, queue, session):
    waiting = acts.enqueue(queue, type="later")
    failed, dead = acts.enqueue(queue), acts.enqueue(queue)
    for taken, outcome in zip(acts.take(session, queue), ("retryable_error", "permanent_error"), strict=True):
        acts.finish(session, taken, outcome=outcome)
    for verb, job_id, state in (
        ("cancel", waiting, "cancelled"),
        ("retry", failed, "queued"),
        ("replay", dead, "queued"),
    ):
        console.post(reverse(f"admin:jobs_job_{verb}", args=[job_id]))
        assert find(job_id).state == state
        assert [action.partition(".")[0] for action in entries(job_id)] == ["job"]


def test_jobs_are_cancelled_together_and_refusals_are_told(console, queue, session):
    done, waiting = acts.enqueue(queue), acts.enqueue(queue)
    acts.finish(session, acts.take_one(session, queue))
    run(console, Job, "cancel_all", done, waiting)
    said = [str(message) for message in console.get(list_of(Job)).context["messages"]]
    assert said[0] == "1 cancelled."
    assert said[1].startswith("1 refused: ")
    assert find(waiting).state == "cancelled"
    assert find(done).state == "completed"


def test_an_action_is_for_the_page_and_never_for_all(console, queue):
    chosen, other = acts.enqueue(queue), acts.enqueue(queue)
    run(console, Job, "cancel_all", chosen, select_across="1")
    assert find(chosen).state == "cancelled"
    assert find(other).state == "queued"


def test_a_job_has_no_form_to_change_it(console, queue):
    job_id = acts.enqueue(queue)
    job = find(job_id)
    assert console.post(page_of(job), {"priority": "9"}).status_code == 403
    assert console.post(reverse("admin:jobs_job_delete", args=[job_id]), {"post": "yes"}).status_code == 403
    assert console.get(reverse("admin:jobs_job_add")).status_code == 403
    assert find(job_id).priority == job.priority


# People and tokens


def test_a_token_is_revoked_and_none_is_made_here(console):
    token = ApiTokenFactory.create()
    run(console, ApiToken, "revoke", token)
    assert ApiToken.objects.get(pk=token.pk).revoked_at is not None
    assert entries(token.pk) == ["token.revoke"]
    assert console.get(reverse("admin:accounts_apitoken_add")).status_code == 403


def test_a_user_is_made_changed_and_given_a_password_without_writing_the_secret_down(console):
    password = "a much longer secret than that"
    asked = {"email": "New@Example.com", "name": "New", "password1": password, "password2": password}
    console.post(reverse("admin:accounts_user_add"), asked)
    user = User.objects.get(email="new@example.com")
    form = form_of(console, page_of(user))
    form.pop("password", None)
    form |= {"last_login_0": "", "last_login_1": "", "name": "Newer", "groups": [], "user_permissions": []}
    console.post(page_of(user), form)
    console.post(
        reverse("admin:auth_user_password_change", args=[user.pk]), {"password1": PASSWORD, "password2": PASSWORD}
    )
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
    assert user.name == "Newer"
    assert entries(user.pk) == ["user.create", "user.update", "user.password"]
    assert "argon2" not in str(list(Entry.objects.values_list("before", "after")))


def test_what_a_user_may_is_written_down(console):
    user = UserFactory.create()
    form = form_of(console, page_of(user))
    form.pop("password", None)
    form |= {"is_staff": "on", "groups": [], "user_permissions": []}
    console.post(page_of(user), form)
    [entry] = Entry.objects.filter(target_id=str(user.pk))
    assert (entry.before, entry.after) == ({"is_staff": False}, {"is_staff": True})


def test_staff_cannot_raise_themselves(client, ground):
    from django.contrib.auth.models import Permission

    clerk, boss = UserFactory.create(is_staff=True), UserFactory.create(is_superuser=True, is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client.force_login(clerk)
    client.post(page_of(clerk), {"email": clerk.email, "name": "x", "is_active": "on", "is_superuser": "on"})
    clerk.refresh_from_db()
    assert clerk.name == "x"
    assert not clerk.is_superuser
    reset = reverse("admin:auth_user_password_change", args=[boss.pk])
    assert client.post(reset, {"password1": PASSWORD, "password2": PASSWORD}).status_code == 403
    assert client.post(page_of(boss), {"email": "mine@example.com", "is_active": "on"}).status_code == 403


def test_the_last_owner_stays(console):
    owner = MembershipFactory.create(role=Role.OWNER)
    console.post(page_of(owner), {"role": "viewer"})
    console.post(reverse("admin:accounts_membership_delete", args=[owner.pk]), {"post": "yes"})
    assert Membership.objects.get(pk=owner.pk).role == Role.OWNER
    MembershipFactory.create(organization=owner.organization, role=Role.OWNER)
    console.post(page_of(owner), {"role": "viewer"})
    assert Membership.objects.get(pk=owner.pk).role == Role.VIEWER


def test_a_member_is_let_in(console):
    user, organization = UserFactory.create(), OrganizationFactory.create()
    asked = {"user": str(user.pk), "organization": str(organization.pk), "role": "member"}
    console.post(reverse("admin:accounts_membership_add"), asked)
    member = Membership.objects.get(user=user)
    assert entries(member.pk) == ["member.add"]


def test_projects_are_changed_and_written_down(console):
    project = ProjectFactory.create()
    console.post(page_of(project), form_of(console, page_of(project)) | {"name": "Other"})
    [entry] = Entry.objects.filter(target_id=str(project.pk))
    assert (entry.action, entry.after) == ("project.update", {"name": "Other"})


def test_the_history_of_a_row_is_its_audit_trail(console, queue):
    console.post(reverse("admin:queues_queue_pause", args=[queue.pk]))
    response = console.get(reverse("admin:queues_queue_history", args=[queue.pk]), follow=True)
    assert "queue.pause" in response.content.decode()


def test_the_trail_itself_is_not_changed(console, queue):
    console.post(reverse("admin:queues_queue_pause", args=[queue.pk]))
    entry = Entry.objects.get()
    assert console.post(page_of(entry), {"actor": "somebody else"}).status_code == 403
    assert console.post(reverse("admin:audit_entry_delete", args=[entry.pk]), {"post": "yes"}).status_code == 403


# Who may only look


def test_an_onlooker_sees_and_changes_nothing(onlooker, queue, session):
    job_id = acts.enqueue(queue)
    token = ApiTokenFactory.create()
    for model in (Queue, Job, ApiToken):
        assert onlooker.get(list_of(model)).status_code == 200
    assert onlooker.post(reverse("admin:queues_queue_pause", args=[queue.pk])).status_code == 403
    assert onlooker.post(reverse("admin:jobs_job_cancel", args=[job_id])).status_code == 403
    assert onlooker.post(page_of(queue), {"timeout_ms": "1"}).status_code == 403
    run(onlooker, Queue, "pause_all", queue)
    run(onlooker, Queue, "purge_all", queue, confirmed="yes")
    run(onlooker, Job, "cancel_all", job_id)
    run(onlooker, ApiToken, "revoke", token)
    assert Entry.objects.count() == 0
    assert find(job_id).state == "queued"
