"""Remote workers of one organization, each a caller with a token of its own."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.accounts.models import ApiToken, Membership, Organization, Project, Role
from apps.queues.models import Queue
from tests.api.caller import Api, token_of
from tests.factories import ApiTokenFactory, MembershipFactory

PING = "ping"


@dataclass
class Remote:
    """One session of a worker that speaks HTTP."""

    api: Api
    id: str
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"worker/sessions/{self.id}"

    def ask(self, verb: str, **body: Any) -> Any:
        return self.api.post(f"{self.path}/{verb}", body)

    def said(self, verb: str, **body: Any) -> Any:
        answer = self.ask(verb, **body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def claim(self, **body: Any) -> list[dict[str, Any]]:
        jobs: list[dict[str, Any]] = self.said("claim", **body)["jobs"]
        return jobs

    def one(self) -> dict[str, Any]:
        [job] = self.claim(limit=1)
        return job

    def report(self, *jobs: dict[str, Any], outcome: str = "success", **fields: Any) -> list[dict[str, str]]:
        """Answers what was fenced."""
        results = [{**pair(job), "outcome": outcome, **fields} for job in jobs]
        fenced: list[dict[str, str]] = self.said("report", results=results)["fenced"]
        return fenced

    def beat(self, *held: dict[str, Any], **body: Any) -> Any:
        return self.said("heartbeat", held=[pair(job) for job in held], **body)

    def leave(self) -> None:
        assert self.api.delete(self.path).status_code == 204


def pair(job: dict[str, Any]) -> dict[str, str]:
    return {"job": job["job"], "fence": job["fence"]}


def begin(api: Api, uid: str = "w1", **fields: Any) -> Remote:
    answer = api.post("worker/sessions", {"uid": uid, "types": [PING], "concurrency": 10, **fields})
    assert answer.status_code == 201, answer.content
    return Remote(api, answer.json()["session"], answer.json())


def api_of(organization: Organization, project: Project | None = None) -> Api:
    """A caller with a worker's token."""
    member: Membership = MembershipFactory.create(organization=organization, role=Role.MEMBER)
    api, _ = token_of(member, "worker", project=project)
    return api


@pytest.fixture
def api(organization: Organization) -> Api:
    return api_of(organization)


@pytest.fixture
def remote(api: Api, queue: Queue) -> Remote:
    """A worker that serves the queue."""
    return begin(api)


@pytest.fixture
def token(queue: Queue) -> ApiToken:
    """A worker's token, its text beside it, for callers in real processes."""
    member = MembershipFactory.create(organization=queue.project.organization, role=Role.MEMBER)
    return ApiTokenFactory.create(user=member.user, organization=member.organization, scopes=["worker"])
