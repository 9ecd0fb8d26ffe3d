"""Where one answer leads: the ids it gives, and every operation that takes them, as links of the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

# By operation: which parameter its answer fills, and where in the answer that stands.
GIVES: dict[str, dict[str, str]] = {
    "orgs-post": {"org": "id"},
    "orgs-get": {"org": "results/0/id"},
    "org-projects-post": {"project": "id"},
    "org-projects-get": {"project": "results/0/id"},
    "org-members-post": {"user": "user_id"},
    "org-members-get": {"user": "results/0/user_id"},
    "org-tokens-post": {"token": "id"},
    "org-tokens-get": {"token": "results/0/id"},
    "auth-sessions-get": {"login": "results/0/id"},
    "project-retry-policies-post": {"policy": "id"},
    "project-retry-policies-get": {"policy": "results/0/id"},
    "project-queues-post": {"queue": "id"},
    "project-queues-get": {"queue": "results/0/id"},
    "queue-jobs-post": {"job": "id"},
    "queue-jobs-batch-post": {"job": "jobs/0/id", "batch": "batch"},
    "job-duplicate-post": {"job": "id"},
    "jobs-get": {"job": "results/0/id"},
    "dlq-get": {"job": "results/0/job"},
    "queue-schedules-post": {"schedule": "id"},
    "queue-schedules-get": {"schedule": "results/0/id"},
    "project-workflows-post": {"workflow": "workflow", "job": "jobs/0/id"},
    "project-workflows-get": {"workflow": "results/0/id"},
    "reservations-post": {"reservation": "id"},
    "reservations-get": {"reservation": "results/0/id"},
    "worker-sessions-post": {"session": "session", "worker": "uid"},
    "workers-get": {"worker": "results/0/uid"},
}
# Bodies that name what an answer gave, by the operation that answers and the one that is asked.
BODIES: dict[tuple[str, str], Any] = {
    ("project-workflows-post", "reservations-post"): {"workflow": "$response.body#/workflow"},
    ("worker-session-claim-post", "worker-session-report-post"): {
        "results": [
            {
                "job": "$response.body#/jobs/0/job",
                "fence": "$response.body#/jobs/0/fence",
                "outcome": "success",
            }
        ]
    },
}
METHODS = ("get", "post", "patch", "delete")
Link = dict[str, Any]


def link(result: dict[str, Any]) -> None:
    """Say below each answer that gives an id where that id is asked for."""
    operations = dict(_operations(result))
    shared: dict[str, Link] = {}
    for name, (path, operation) in operations.items():
        links = {}
        for key, made in _of(name, path, operations):
            shared[key] = made
            links[made["operationId"]] = {"$ref": f"#/components/links/{key}"}
        for status, response in operation["responses"].items():
            if links and status.startswith("2"):
                response["links"] = dict(links)
    result["components"]["links"] = dict(sorted(shared.items()))


def _operations(result: dict[str, Any]) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    for path, methods in result["paths"].items():
        for method in METHODS:
            if method in methods:
                yield methods[method]["operationId"], (path, methods[method])


def _of(name: str, path: str, operations: dict[str, tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, Link]]:
    """The links of one operation, by the key they have among all: one that others have too is written once."""
    gives = {key: f"$response.body#/{pointer}" for key, pointer in GIVES.get(name, {}).items()}
    for target, (other, asked) in operations.items():
        takes = _takes(other, asked)
        given = {key: gives[key] for key in takes & gives.keys()}
        body = BODIES.get((name, target))
        if not given and body is None:
            continue
        kept = {key: f"$request.path.{key}" for key in _takes(path, {}) & _takes(other, {}) - given.keys()}
        made: Link = {"operationId": target}
        if parameters := dict(sorted((given | kept).items())):
            made["parameters"] = parameters
        if body is not None:
            made["requestBody"] = body
        yield _key(name, made), made


def _takes(path: str, operation: dict[str, Any]) -> set[str]:
    """The parameters that name a thing: of the path, and of the query those with a path parameter's name."""
    parts = {part[1:-1] for part in path.split("/") if part.startswith("{")}
    return parts | {one["name"] for one in operation.get("parameters", []) if one.get("in") == "query"}


def _key(name: str, made: Link) -> str:
    if "requestBody" in made:
        return f"{made['operationId']}.after.{name}"
    ends = (f"{key}.{where.rpartition('#/')[2].replace('/', '.')}" for key, where in made["parameters"].items())
    return ".".join([made["operationId"], *(end.replace("$request.path", "same") for end in ends)])
