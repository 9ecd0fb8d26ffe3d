"""What docs/workflows.md shows is what the API takes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from apps.jobs.states import WorkflowState
from tests.factories import QueueFactory

pytestmark = pytest.mark.django_db
PAGE = (Path(__file__).parents[2] / "docs" / "workflows.md").read_text()
WORKFLOW, BATCH = (json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.S))


def test_its_workflow_is_taken(api, project):
    for name in ("texts", "media"):
        QueueFactory.create(project=project, name=name)
    made = api.post(f"projects/{project.pk}/workflows", WORKFLOW)
    assert made.status_code == 201, made.content
    seen: Any = api.get(f"workflows/{made.json()['workflow']}").json()
    assert (seen["name"], seen["labels"], len(seen["edges"])) == ("film 7", {"film": "7"}, 5)


def test_its_batch_is_taken(api, jobs):
    made = api.post(f"{jobs}/batch", BATCH)
    assert (made.status_code, len(made.json()["jobs"]), made.json()["rejected"]) == (202, 2, [])


def test_it_names_every_state():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M)) == set(WorkflowState.values)
