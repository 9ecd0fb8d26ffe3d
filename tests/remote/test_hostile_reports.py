"""What no table can hold is refused where it stands, and the job is still its holder's to report. Cases H1 and H2."""

import json

import pytest

from apps.jobs.selectors import find
from tests import acts
from tests.api.caller import pointers
from tests.remote.conftest import pair

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("outcome", "field", "text", "where"),
    [
        ("success", "result", rb'{"out": "a\u0000b"}', "/out"),
        ("success", "result", rb'{"\u0000": 1}', "/�"),
        ("success", "result", b'{"x": NaN}', "/x"),
        ("success", "result", b"-Infinity", ""),
        ("success", "result", b"1e400", ""),
        ("permanent_error", "error_class", rb'"Bad\u0000Error"', ""),
        ("permanent_error", "error_message", rb'"bad \u0000 byte"', ""),
        ("permanent_error", "traceback", rb'"\ud800"', ""),
    ],
)
def test_a_report_is_refused_by_name_and_may_be_said_again(remote, queue, outcome, field, text, where):
    job_id = acts.enqueue(queue)
    job = remote.one()
    end = json.dumps({**pair(job), "outcome": outcome}).encode()[:-1] + b', "%s": %s}' % (field.encode(), text)
    refused = remote.api.post(f"{remote.path}/report", b'{"results": [%s]}' % end)
    assert pointers(refused) == [f"#/results/0/{field}{where}"]
    assert find(job_id).state == "running"
    assert remote.report(job, outcome=outcome) == []
    seen = find(job_id)
    assert (seen.attempt, seen.state) == (1, "completed" if outcome == "success" else "dead_letter")


def test_progress_is_refused_by_name_and_the_next_heartbeat_is_heard(remote, queue):
    acts.enqueue(queue)
    job = remote.one()
    said = {"held": [pair(job)], "progress": [{**pair(job), "stage": "a\x00b"}]}
    assert pointers(remote.ask("heartbeat", **said)) == ["#/progress/0/stage"]
    assert remote.beat(job)["lost"] == []
