"""The fields that callers rely on stand in the document, which a test holds against the code."""

import pytest

from tests import acts
from tests.api.caller import pointers, problem
from tests.api.test_drawn import SCHEMA
from tests.factories import ProjectFactory, QueueFactory

FIELDS = {
    "JobFieldsRequest": "type payload priority run_at delay_seconds timeout_ms retry_policy max_attempts max_losses"
    " depends_on on_parent_failure unique_key concurrency_key requires_approval workflow required_worker placement labels",
    "JobAnswer": "id queue type state reason priority position run_at created_at started_at finished_at elapsed_seconds"
    " attempt max_attempts stage done total last_error result_url cancel_requested labels workflow batch submitted_by",
    "JobDetailAnswer": "payload result attempts parents children lease why_waiting",
    "NewPolicyRequest": "name kind max_attempts max_losses max_lost_attempts base_delay_ms max_delay_ms jitter intervals",
    "PolicyAnswer": "name kind max_attempts max_losses base_delay_ms max_delay_ms jitter intervals",
    "NewQueueRequest": "name retry_policy max_concurrency shards rate_per_second burst max_depth default_priority"
    " aging_seconds breaker timeout_ms retention_days dead_letter_retention_days max_per_key weight allowed_types"
    " hide_payloads_below",
    "BreakerRequest": "window trip cooldown_seconds",
    "NewScheduleRequest": "name cron_expr timezone job_type payload priority overlap_policy catchup_policy jitter_seconds"
    " deadline_seconds",
    "ScheduleAnswer": "name cron_expr timezone job_type payload priority overlap_policy catchup_policy jitter_seconds"
    " deadline_seconds next_run_at",
    "LineItemAnswer": "stage state priority position required_worker assigned_worker paused attempts waiting_seconds"
    " retry_at can_retry",
    "QueueHealthAnswer": "queue depth oldest_ready_seconds in_flight cap live_workers breaker rate_limited saturated"
    " starved last_hour p95_ms health reason",
    "StatsAnswer": "counts oldest_ready_seconds",
    "MinuteAnswer": "completed failed wait_p50_ms wait_p95_ms wait_p99_ms run_p50_ms run_p95_ms run_p99_ms",
    "WorkerAnswer": "uid hostname pid state concurrency pools held_jobs types version started_at last_seen_at sample"
    " capabilities",
    "DeadAnswer": "job reason last_error_class last_error_message died_at replayable blocked_by",
    "FailureSummaryAnswer": "window_hours failures summary model state",
    "FailureAnswer": "error_class top_frame count distinct_messages latest_message first_seen last_seen",
    "LoginAnswer": "token user_id issued_at expires_at",
    "RegisterAnswer": "user token",
    "NewMemberRequest": "email role",
    "FrameAnswer": "v seq prev_seq kind project_id queue_id job_id state attempt stage done total error result_url at"
    " finished_at",
    "Problem": "type title status detail code request_id errors",
}


@pytest.mark.parametrize("name", FIELDS)
def test_what_callers_rely_on_is_there(name):
    missing = set(FIELDS[name].split()) - SCHEMA["components"]["schemas"][name]["properties"].keys()
    assert not missing


def test_a_list_of_jobs_has_neither_payloads_nor_results():
    assert not {"payload", "result"} & SCHEMA["components"]["schemas"]["JobAnswer"]["properties"].keys()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["jobs", "dlq", "workers"])
def test_a_list_needs_a_place_and_a_queue_may_name_its_project(path, api, queue):
    assert pointers(api.get(path)) == ["?project"]
    acts.enqueue(queue)
    elsewhere = ProjectFactory.create(organization=queue.project.organization)
    sibling = QueueFactory.create(project=queue.project)
    acts.enqueue(sibling)
    alone, both = (api.get(f"{path}?queue={queue.pk}{more}").json() for more in ("", f"&project={queue.project_id}"))
    assert alone == both
    assert len(both["results"]) == (path == "jobs")
    problem(api.get(f"{path}?queue={queue.pk}&project={elsewhere.pk}"), 404, "not_found")
