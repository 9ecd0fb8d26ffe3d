"""What makes a run fail, in words."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.bench.services.chaos.run import _verdict

GOOD: dict[str, Any] = {"truth": {"lost_submissions": []}, "invariants": [], "completed": 5}


def verdict(*, bites=None, drained=True, ends=(), asked=(), **told):
    stage: Any = SimpleNamespace(crew=SimpleNamespace(ends=Counter(ends)), shop=SimpleNamespace(asked=Counter(asked)))
    return _verdict({**GOOD, **told}, {"cut": 1} if bites is None else bites, stage, drained=drained)


def test_a_good_run_is_ok():
    assert verdict(ends=["worker -9", "worker 3", "web -9"]) == {"wrong": [], "ok": True}


@pytest.mark.parametrize(
    ("planted", "says"),
    [
        ({"truth": {"lost_submissions": ["a is gone"]}}, "lost_submissions: 1"),
        ({"invariants": [{"name": "one_shelf", "says": "No job stands on two shelves."}]}, "invariant one_shelf"),
        ({"drained": False}, "not drained"),
        ({"bites": {"cut": 0, "kill-web": 0}}, "no fault bit"),
        ({"completed": 0}, "nothing was completed"),
        ({"ends": ["worker 1"]}, "ended by itself: worker 1"),
        ({"asked": ["500"]}, "the site answered 500"),
        ({"ends": ["worker deaf to TERM"]}, "ended by itself: worker deaf to TERM"),
    ],
)
def test_whatever_is_wrong_fails_it(planted, says):
    told = verdict(**planted)
    assert not told["ok"]
    assert len(told["wrong"]) == 1
    assert says in told["wrong"][0]


def test_a_run_without_faults_need_not_bite():
    assert verdict(bites={})["ok"]


def test_a_fault_that_does_not_exist_is_refused_in_one_line():
    with pytest.raises(CommandError, match="there is no fault kill-joy"):
        call_command("chaos", "--faults=kill-joy,cut")
